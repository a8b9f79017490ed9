package learn

import (
	"math"
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
	list := tooAlike(head, []Confusion{{Want: "cancel", Got: "cancel", Count: 5}, {Want: NoTool, Got: "status", Count: 2}})
	if len(list) != 2 {
		t.Fatalf("got %+v", list)
	}
	if list[0].A != NoTool || list[0].B != "status" || list[0].Confused != 2 {
		t.Errorf("the worst pair: got %+v", list[0])
	}
	if list[1].A != "cancel" || list[1].B != "status" || list[1].Confused != 0 || list[1].Cosine < 0.99 {
		t.Errorf("the close pair: got %+v", list[1])
	}
	if tooAlike(nil, nil) != nil {
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
		if got := failure(0, c.x, c.got).Reason; got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
