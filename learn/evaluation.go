package learn

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"

	"edge/internal/canon"
	"edge/tools"
)

// Evaluation is how well the learned head, arguments and prefix do on requests that they weren't learned from, beside
// the same model with the same tools and nothing learned.
type Evaluation struct {
	// Method is "holdout"; or "leave_one_out" where the sample file has no holdout and each example was left out in turn;
	// or "none". Leaving one out is kinder than a holdout: the prefix still holds the example, and only calls that are
	// certain before the model writes count as exact.
	Method    string      `json:"method"`
	Holdout   int         `json:"holdout"` // requests of the holdout
	Baseline  *Shares     `json:"baseline,omitempty"`
	Learned   *Shares     `json:"learned,omitempty"`
	Confusion []Confusion `json:"confusion,omitempty"`
	TooAlike  []Alike     `json:"too_alike,omitempty"`
	Failures  []Failure   `json:"failures"`
}

// Shares are parts of 1 of the requests that they are about: ToolChoice of all, ExactCall and ValidCall of those that
// need a call, NoTool of those that need none. Where nothing belongs to a share it is 1.
type Shares struct {
	ToolChoice float64 `json:"tool_choice"`
	ExactCall  float64 `json:"exact_call"`
	ValidCall  float64 `json:"valid_call"`
	NoTool     float64 `json:"no_tool"`
	// Intervals are the shares' 95 % confidence intervals (Wilson, JASA 1927), by the names above.
	Intervals map[string]Interval `json:"intervals_95"`
	// CallMS is the median time from the request to its call or to the choice of none; 0 where it wasn't measured.
	CallMS float64 `json:"call_ms"`
}

// Interval is from its first to its second number.
type Interval [2]float64

// Confusion counts requests that should get Want and got Got; "" is no tool.
type Confusion struct {
	Want  string `json:"want"`
	Got   string `json:"got"`
	Count int    `json:"count"`
}

// Alike is a pair of classes that the head tells apart badly: how often it took one for the other, on the holdout and on
// examples that were left out in turn, and the cosine of their means.
type Alike struct {
	A          string  `json:"a"`
	B          string  `json:"b"`
	Confused   int     `json:"confused"`
	Cosine     float64 `json:"cosine"`
	Suggestion string  `json:"suggestion"`
}

// Failure is one request that the learned imprint gets wrong.
type Failure struct {
	Index  int        `json:"index"`
	Prompt string     `json:"prompt"`
	Want   *CallValue `json:"want"` // null: no call
	Got    *CallValue `json:"got"`
	Reason string     `json:"reason"` // "tool", "arguments", "no_call" or "needless_call"
	Detail string     `json:"detail"` // in words
}

// CallValue is a call as the evaluation prints it.
type CallValue struct {
	ToolName  string          `json:"tool_name"`
	Arguments json.RawMessage `json:"arguments"`
}

func wanted(x Example) *CallValue {
	if x.Call == nil {
		return nil
	}
	return &CallValue{x.Call.ToolName, x.Call.Arguments}
}

func failure(i int, x Example, got *CallValue, plan Plan, a *Arguments) Failure {
	f := Failure{Index: i, Prompt: x.Prompt, Want: wanted(x), Got: got, Reason: "arguments", Detail: detail(x, got, plan, a)}
	switch {
	case f.Want == nil:
		f.Reason = "needless_call"
	case got == nil:
		f.Reason = "no_call"
	case got.ToolName != f.Want.ToolName:
		f.Reason = "tool"
	}
	return f
}

// tally counts what an evaluation gets right.
type tally struct {
	calls, exact, valid, none, noTool, choice int
	confused                                  map[[2]string]int
	mistakes                                  []mistake
	times                                     []float64 // ms
}

// add counts one request and reports whether all of it was right.
func (t *tally) add(set *tools.ActiveSet, x Example, got *CallValue) bool {
	want := wanted(x)
	chosen := NoTool
	if got != nil {
		chosen = got.ToolName
	}
	t.confuse(x, chosen, false)
	if chosen == x.label() {
		t.choice++
	}
	if want == nil {
		t.none++
		if got == nil {
			t.noTool++
		}
		return got == nil
	}
	t.calls++
	if got == nil {
		return false
	}
	if set.Validate(tools.Call{ToolName: got.ToolName, Arguments: got.Arguments}) == nil {
		t.valid++
	}
	if got.ToolName == want.ToolName && sameJSON(got.Arguments, want.Arguments) {
		t.exact++
		return true
	}
	return false
}

// confuse counts what a request got; example is whether it is one that was left out.
func (t *tally) confuse(x Example, got string, example bool) {
	if t.confused == nil {
		t.confused = map[[2]string]int{}
	}
	t.confused[[2]string{x.label(), got}]++
	if got != x.label() {
		t.mistakes = append(t.mistakes, mistake{x.label(), got, x.Prompt, example})
	}
}

func (t *tally) confusion() []Confusion {
	var list []Confusion
	for _, pair := range slices.SortedFunc(maps.Keys(t.confused), func(x, y [2]string) int {
		return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]))
	}) {
		list = append(list, Confusion{pair[0], pair[1], t.confused[pair]})
	}
	return list
}

func sameJSON(a, b []byte) bool {
	x, errX := canon.Transform(a)
	y, errY := canon.Transform(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

func (t *tally) shares() *Shares {
	s := &Shares{Intervals: map[string]Interval{}}
	set := func(name string, into *float64, n, of int) {
		*into = 1
		if of > 0 {
			*into = float64(n) / float64(of)
		}
		s.Intervals[name] = wilson(n, of)
	}
	set("tool_choice", &s.ToolChoice, t.choice, t.calls+t.none)
	set("exact_call", &s.ExactCall, t.exact, t.calls)
	set("valid_call", &s.ValidCall, t.valid, t.calls)
	set("no_tool", &s.NoTool, t.noTool, t.none)
	if n := len(t.times); n > 0 {
		times := slices.Sorted(slices.Values(t.times))
		s.CallMS = times[n/2]
	}
	return s
}

// wilson is the 95 % score interval of k successes of n (E. B. Wilson, "Probable inference, the law of succession, and
// statistical inference", JASA 22, 1927); all of 0…1 where n is 0.
func wilson(k, n int) Interval {
	if n == 0 {
		return Interval{0, 1}
	}
	const z = 1.959964
	p, size := float64(k)/float64(n), float64(n)
	centre := p + z*z/(2*size)
	half := z * math.Sqrt(p*(1-p)/size+z*z/(4*size*size))
	low, high := (centre-half)/(1+z*z/size), (centre+half)/(1+z*z/size)
	// Rounding must not leave a share outside of its own interval.
	return Interval{max(0, min(low, p)), min(1, max(high, p))}
}
