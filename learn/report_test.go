package learn_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"edge/learn"
)

// The page stands alone and takes everything from a sample file as text.
func TestReport(t *testing.T) {
	shares := &learn.Shares{ToolChoice: 0.5, ExactCall: 0.25, ValidCall: 1, NoTool: 1, CallMS: 321, Intervals: map[string]learn.Interval{
		"tool_choice": {0.2, 0.8}, "exact_call": {0, 0.6}, "valid_call": {0.5, 1}, "no_tool": {0.3, 1},
	}}
	e := learn.Evaluation{
		Method: "holdout", Holdout: 4, Baseline: shares, Learned: shares,
		Confusion: []learn.Confusion{{Want: "cancel", Got: "cancel", Count: 1}, {Want: "cancel", Got: "status", Count: 2}},
		TooAlike:  []learn.Alike{{A: "cancel", B: "status", Confused: 2, Cosine: 0.5, Suggestion: "add examples"}},
		Failures:  []learn.Failure{{Prompt: `<script>alert("x")</script>`, Want: &learn.CallValue{ToolName: "cancel", Arguments: json.RawMessage(`{}`)}, Reason: "no_call"}},
	}
	var page bytes.Buffer
	if err := learn.WriteReport(&page, "shop & co", e); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	for _, want := range []string{"shop &amp; co", "50 %", "25 %", "321 ms", "&lt;script&gt;", "no call", "add examples", `x1="80.0" x2="320.0"`, `class="wrong">2<`, `class="right">1<`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, wrong := range []string{"<script", "http://", "https://", "ZgotmplZ"} {
		if strings.Contains(text, wrong) {
			t.Errorf("the page has %q", wrong)
		}
	}
}
