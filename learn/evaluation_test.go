package learn

import (
	"math"
	"strings"
	"testing"
)

// Values of the score interval as published for small samples.
func TestWilson(t *testing.T) {
	for _, c := range []struct {
		k, n      int
		low, high float64
	}{
		{0, 10, 0, 0.2775}, {5, 10, 0.2366, 0.7634}, {10, 10, 0.7225, 1}, {46, 48, 0.8602, 0.9885}, {0, 0, 0, 1},
	} {
		got := wilson(c.k, c.n)
		if math.Abs(got[0]-c.low) > 1e-4 || math.Abs(got[1]-c.high) > 1e-4 {
			t.Errorf("%d of %d: got %.4f … %.4f, want %.4f … %.4f", c.k, c.n, got[0], got[1], c.low, c.high)
		}
	}
}

func TestTooAlike(t *testing.T) {
	near, far := unit(Vector{1, 0.9}), unit(Vector{1, 1})
	head := &Head{Classes: []string{NoTool, "cancel", "status"}, Views: []HeadView{{Means: []Vector{unit(Vector{-1, -1}), near, far}}}}
	examples := []Example{{Prompt: "hello"}, {Prompt: "hi"}, {Prompt: "stop it", Call: &ExampleCall{ToolName: "cancel"}}}
	list := tooAlike(head, []mistake{{NoTool, "status", "how is it going?", false}, {NoTool, "status", "what's up?", false}, {"status", NoTool, "news?", true}}, examples)
	if len(list) != 2 {
		t.Fatalf("got %+v", list)
	}
	if list[0].A != NoTool || list[0].B != "status" || list[0].Confused != 3 {
		t.Errorf("the worst pair: got %+v", list[0])
	}
	const want = `requests without a tool: "how is it going?" and "what's up?" got status; 2 examples so far: add some in such words; ` +
		`requests for status: "news?" would get no tool if it weren't an example itself; 0 examples so far: add some in such words`
	if list[0].Suggestion != want {
		t.Errorf("got  %s\nwant %s", list[0].Suggestion, want)
	}
	if list[1].A != "cancel" || list[1].B != "status" || list[1].Confused != 0 || list[1].Cosine < 0.99 || !strings.Contains(list[1].Suggestion, "weren't confused") {
		t.Errorf("the close pair: got %+v", list[1])
	}
	long := strings.Repeat("order ", 30)
	list = tooAlike(head, []mistake{{"cancel", "status", long, false}, {"cancel", "status", "b", false}, {"cancel", "status", "c", false}}, examples)
	for _, part := range []string{"…", `"b" and 1 more`, "requests for cancel: ", "1 example so far", "in the description of status what it isn't for"} {
		if !strings.Contains(list[0].Suggestion, part) {
			t.Errorf("%q isn't in %s", part, list[0].Suggestion)
		}
	}
	if tooAlike(nil, nil, nil) != nil {
		t.Error("without a head nothing is alike")
	}
}

func TestReasons(t *testing.T) {
	answer := "hi"
	call := func(tool string) *CallValue { return &CallValue{ToolName: tool} }
	wants := Example{Prompt: "p", Call: &ExampleCall{ToolName: "a"}}
	for _, c := range []struct {
		x    Example
		got  *CallValue
		want string
	}{
		{wants, nil, "no_call"}, {wants, call("b"), "tool"}, {wants, call("a"), "arguments"}, {Example{Prompt: "p", Answer: &answer}, call("a"), "needless_call"},
	} {
		if got := failure(0, c.x, c.got, Plan{}, nil).Reason; got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestDetail(t *testing.T) {
	x := Example{Prompt: "p", Call: &ExampleCall{ToolName: "a", Arguments: []byte(`{"n":1,"s":"x","u":true}`)}}
	got := &CallValue{"a", []byte(`{"n":2,"s":"x","v":[]}`)}
	for _, c := range []struct {
		name string
		x    Example
		got  *CallValue
		plan Plan
		want string
	}{
		{"arguments", x, got, Plan{}, "n is 2, want 1; u is left out, want true; v is [], want it left out"},
		{"another tool", x, &CallValue{ToolName: "b"}, Plan{Choice: &Choice{Class: "b", Margin: 0.25}}, "b was nearest, by 0.25"},
		{"none", x, nil, Plan{Choice: &Choice{Margin: 0.5}}, "no tool was nearest, by 0.50"},
		{"doubt", x, nil, Plan{Choice: &Choice{Class: "a"}, Doubted: true}, "a was found and doubted: the evidence was too weak"},
		{"a call cut off", x, nil, Plan{Choice: &Choice{Class: "a"}}, "a was found, and no whole call was written"},
		{"without a head", x, nil, Plan{}, ""},
	} {
		if d := detail(c.x, c.got, c.plan, nil); d != c.want {
			t.Errorf("%s: got %q, want %q", c.name, d, c.want)
		}
	}
}
