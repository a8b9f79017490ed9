package learn_test

import (
	"testing"

	"edge/learn"
)

// TestWordsDecideBetweenEqualStates, as far as they count; and what a tool that no example calls asks for must be there.
func TestWordsDecideBetweenEqualStates(t *testing.T) {
	set := shop(t)
	v := []learn.Vector{{1, 2}, {3, 4}}
	head := learn.TrainHead([][]learn.Vector{v, v, v}, []string{learn.NoTool, "calculate_fee", "order_status"})
	none := learn.LearnArguments(set, nil)
	for _, c := range []struct {
		request string
		words   float64
		want    string
	}{
		{"the status of an order", 1, "order_status"},
		{"the status of an order", 0, learn.NoTool}, // the first of equals
		{"the fee for 250", 1, "calculate_fee"},
		{"the fee", 1, learn.NoTool}, // it has no amount
		{"the weather", 1, learn.NoTool},
	} {
		if got := learn.NewSelector(set, head, c.words).Choose(c.request, v, none); got.Class != c.want {
			t.Errorf("%s, words counting %g: got %+v, want %q", c.request, c.words, got, c.want)
		}
	}
	taught := learn.LearnArguments(set, shopExamples())
	if got := learn.NewSelector(set, head, 1).Choose("the fee", v, taught); got.Class != "calculate_fee" {
		t.Errorf("of a tool with examples these say what is evidence enough: got %+v", got)
	}
	if got := learn.NewSelector(set, nil, 1).Choose("the status of an order", nil, none); got.Class != "order_status" {
		t.Errorf("without a head: got %+v", got)
	}
}

// TestTeach: how much words count is found on the examples, and a tool with one example still has its description when
// that is left out.
func TestTeach(t *testing.T) {
	set := shop(t)
	asked := map[string]int{}
	look := func(text string) ([]learn.Vector, error) { // states that say nothing
		asked[text]++
		return []learn.Vector{{1, 1}, {1, 1}}, nil
	}
	examples := []learn.Example{
		example("The fee for 250?", "calculate_fee", `{"amount":250}`),
		example("A fee of 75", "calculate_fee", `{"amount":75}`),
		example("Status of order 555", "order_status", `{"order_id":"555"}`),
	}
	l, err := learn.Teach(set, &learn.Sample{Examples: examples}, look)
	if err != nil {
		t.Fatal(err)
	}
	if l.Words == 0 {
		t.Error("words don't count, though only they tell the examples apart")
	}
	if len(asked) != 4 || asked["Look up an order."] != 1 {
		t.Errorf("asked %v", asked)
	}
}
