package learn_test

import (
	"encoding/base64"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"edge/learn"
)

// cloud draws requests around a centre. One dimension is far off zero in all of them, varies most and says nothing, as
// in a language model. The second view is the first one backwards.
func cloud(random *rand.Rand, centre []float64, n int) (list [][]learn.Vector) {
	for range n {
		v := make(learn.Vector, 0, len(centre)+1)
		for _, x := range centre {
			v = append(v, float32(x+0.2*random.NormFloat64()))
		}
		list = append(list, twoViews(append(v, float32(1000+3*random.NormFloat64()))))
	}
	return list
}

func twoViews(v learn.Vector) []learn.Vector {
	back := slices.Clone(v)
	slices.Reverse(back)
	return []learn.Vector{v, back}
}

func toy(random *rand.Rand, n int) (vectors [][]learn.Vector, labels []string) {
	for _, class := range []struct {
		label  string
		centre []float64
	}{{"order", []float64{0, 1, 0, 0}}, {learn.NoTool, []float64{0, 0, 1, 1}}, {"fee", []float64{1, 0, 0, 0}}} {
		vectors = append(vectors, cloud(random, class.centre, n)...)
		labels = append(labels, slices.Repeat([]string{class.label}, n)...)
	}
	return vectors, labels
}

func TestHeadTellsSeparableClassesApart(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	vectors, labels := toy(random, 8)
	h := learn.TrainHead(vectors, labels)
	if diff := cmp.Diff([]string{learn.NoTool, "fee", "order"}, h.Classes); diff != "" {
		t.Errorf("classes: %s", diff)
	}
	right := 0
	unseen, want := toy(random, 50)
	for i, v := range unseen {
		c := h.Choose(v)
		if c.Class == want[i] {
			right++
		}
		if c.Score < -1.0001 || c.Score > 1.0001 || c.Margin < 0 || math.IsNaN(c.Margin) {
			t.Fatalf("got %+v", c)
		}
	}
	if right < 145 {
		t.Errorf("%d of 150 right", right)
	}
}

// TestHeadIsSureOfWhatItKnows: a class's own examples score higher than a point between two classes, with more margin.
func TestHeadIsSureOfWhatItKnows(t *testing.T) {
	vectors, labels := toy(rand.New(rand.NewPCG(3, 3)), 8)
	h := learn.TrainHead(vectors, labels)
	own, between := h.Choose(twoViews(learn.Vector{1, 0, 0, 0, 1000})), h.Choose(twoViews(learn.Vector{1, 1, 0, 0, 1000}))
	if own.Class != "fee" || own.Score <= between.Score || own.Margin <= between.Margin || own.Margin < 0.3 {
		t.Errorf("got %+v and %+v", own, between)
	}
}

func TestFewerThanTwoClassesGiveNoHead(t *testing.T) {
	v := twoViews(learn.Vector{1, 2})
	for name, labels := range map[string][]string{"none": {}, "one tool": {"fee", "fee"}, "talk alone": {learn.NoTool, learn.NoTool}} {
		if h := learn.TrainHead(slices.Repeat([][]learn.Vector{v}, len(labels)), labels); h != nil {
			t.Errorf("%s: got %+v", name, h)
		}
	}
	if h := learn.TrainHead([][]learn.Vector{{{1, 0}, {1}}, {{0, 1}, {2}}}, []string{"fee", learn.NoTool}); h == nil || h.Classes[0] != learn.NoTool {
		t.Errorf("a tool and talk are two classes: got %+v", h)
	}
}

func TestHeadOfEqualVectorsIsFinite(t *testing.T) {
	same := learn.Vector{1, 2, 3}
	h := learn.TrainHead([][]learn.Vector{twoViews(same), twoViews(same)}, []string{"a", "b"})
	for _, v := range []learn.Vector{same, {0, 0, 0}, {9, -9, 9}} {
		if c := h.Choose(twoViews(v)); c.Class != "a" || math.IsNaN(c.Score) || math.IsInf(c.Margin, 0) || math.IsNaN(c.Margin) {
			t.Errorf("got %+v", c)
		}
	}
}

func TestTrainingIsAFunctionOfItsInput(t *testing.T) {
	vectors, labels := toy(rand.New(rand.NewPCG(5, 5)), 6)
	before := slices.Clone(vectors[0][0])
	a, b := learn.TrainHead(vectors, labels), learn.TrainHead(vectors, labels)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(before, vectors[0][0]) {
		t.Error("training changed its input")
	}
	before = slices.Clone(vectors[1][1])
	a.Choose(vectors[1])
	if !slices.Equal(before, vectors[1][1]) {
		t.Error("choosing changed its input")
	}
}

func TestLook(t *testing.T) {
	rows := [][]float32{{1, 2}, {3, 4}}
	got := learn.Look(rows)
	if diff := cmp.Diff([]learn.Vector{{2, 3}, {3, 4}}, got); diff != "" {
		t.Errorf("the mean and the last one:\n%s", diff)
	}
	rows[1][0] = 9 // an engine may write its rows again
	if got[1][0] != 3 {
		t.Error("a view shares memory with the engine")
	}
	if got := learn.Look(nil); got != nil {
		t.Errorf("got %v", got)
	}
	many := slices.Repeat([][]float32{{0.1}}, 1000) // the sum is taken in 64 bits
	if got := learn.Look(many); got[0][0] != 0.1 {
		t.Errorf("got %v", got)
	}
}

// TestBothViewsCount: what only one of them tells apart is told apart.
func TestBothViewsCount(t *testing.T) {
	for view := range 2 {
		var requests [][]learn.Vector
		labels := []string{"a", "a", "b", "b"}
		for i := range labels {
			v := []learn.Vector{{1, 1}, {1, 1}}
			v[view] = learn.Vector{float32(i / 2), float32(i % 2)}
			requests = append(requests, v)
		}
		h := learn.TrainHead(requests, labels)
		for i, v := range requests {
			if c := h.Choose(v); c.Class != labels[i] {
				t.Errorf("view %d: request %d is %q", view, i, c.Class)
			}
		}
	}
}

func learned(t *testing.T) *learn.Learned {
	t.Helper()
	vectors, labels := toy(rand.New(rand.NewPCG(5, 5)), 4)
	return &learn.Learned{
		Head:     learn.TrainHead(vectors, labels),
		Profile:  learn.Profile{System: "You bill. <日本>", Facts: []string{"Porto.", "\"quoted\""}},
		Examples: shopExamples(),
	}
}

func encode(t *testing.T, l *learn.Learned) []byte {
	t.Helper()
	raw, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestLearnedComesBackAsItWas(t *testing.T) {
	for name, l := range map[string]*learn.Learned{
		"all": learned(t), "no head": {Profile: learn.Profile{System: "s"}, Examples: shopExamples()}, "words": {Words: 0.25}, "nothing": {},
	} {
		raw := encode(t, l)
		back, err := learn.DecodeLearned(raw)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if back.Words != l.Words {
			t.Errorf("%s: words count %g, want %g", name, back.Words, l.Words)
		}
		if diff := cmp.Diff(l.Head, back.Head); diff != "" {
			t.Errorf("%s: head:\n%s", name, diff)
		}
		if again := encode(t, back); string(again) != string(raw) {
			t.Errorf("%s: encoded again:\n%s\nwant\n%s", name, again, raw)
		}
	}
}

// TestDamagedEncodingsAreRefused: an imprint can be made by anyone, with digests that are right, so what is decoded
// must be usable whatever it says.
func TestDamagedEncodingsAreRefused(t *testing.T) {
	vector := func(values ...float32) string {
		var bytes []byte
		for _, v := range values {
			bits := math.Float32bits(v)
			bytes = append(bytes, byte(bits), byte(bits>>8), byte(bits>>16), byte(bits>>24))
		}
		return base64.StdEncoding.EncodeToString(bytes)
	}
	one, two := vector(1), vector(1, 2)
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	around := func(classes string, views ...string) string {
		return `{"version":"` + learn.LearnedVersion + `","profile":{"system":"","facts":null},"examples":[],"head":{"classes":` + classes + `,"views":[` + strings.Join(views, ",") + `]}}`
	}
	view := func(mean, scale string, means ...string) string {
		return `{"mean":"` + mean + `","scale":"` + scale + `","means":["` + strings.Join(means, `","`) + `"]}`
	}
	good := view(two, two, two, two)
	head := func(classes, mean, scale string, means ...string) string {
		return around(classes, good, view(mean, scale, means...))
	}
	if _, err := learn.DecodeLearned([]byte(head(`["a","b"]`, two, two, two, two))); err != nil {
		t.Fatalf("the undamaged one: %v", err)
	}
	raw := string(encode(t, learned(t)))
	version := `"version":"` + learn.LearnedVersion + `"`
	for name, text := range map[string]string{
		"nothing":               "",
		"null":                  "null",
		"cut":                   raw[:len(raw)-2],
		"longer":                raw + "{}",
		"another version":       strings.Replace(raw, version, `"version":"0"`, 1),
		"no version":            strings.Replace(raw, ","+version, ``, 1),
		"an unknown field":      strings.Replace(raw, version, version+`,"x":1`, 1),
		"classes and means":     head(`["a","b","c"]`, two, two, two, two),
		"one class":             head(`["a"]`, two, two, two),
		"no class":              around(`[]`, `{"mean":"","scale":"","means":[]}`, `{"mean":"","scale":"","means":[]}`),
		"no view":               around(`["a","b"]`),
		"a view less":           around(`["a","b"]`, good),
		"a view more":           around(`["a","b"]`, good, good, good),
		"a class twice":         head(`["a","a"]`, two, two, two, two),
		"classes unsorted":      head(`["b","a"]`, two, two, two, two),
		"a short mean":          head(`["a","b"]`, one, two, two, two),
		"a short scale":         head(`["a","b"]`, two, one, two, two),
		"a short class":         head(`["a","b"]`, two, two, two, one),
		"no dimensions":         head(`["a","b"]`, "", "", "", ""),
		"half a number":         head(`["a","b"]`, "AAA=", two, two, two),
		"no base64":             head(`["a","b"]`, "!!!!", two, two, two),
		"base64 with a newline": head(`["a","b"]`, two[:4]+`\n`+two[4:], two, two, two),
		"not a number":          head(`["a","b"]`, two, two, two, vector(1, nan)),
		"not finite":            head(`["a","b"]`, vector(inf, 1), two, two, two),
		"not finite scale":      head(`["a","b"]`, two, vector(1, nan), two, two),
	} {
		if l, err := learn.DecodeLearned([]byte(text)); err == nil {
			t.Errorf("%s: got %+v", name, l)
		} else if !strings.HasPrefix(err.Error(), "learned section: ") {
			t.Errorf("%s: %q doesn't say what it is about", name, err)
		}
	}
}

func TestSuits(t *testing.T) {
	h := func(dim int, classes ...string) *learn.Learned {
		v := make(learn.Vector, dim)
		return &learn.Learned{Head: &learn.Head{Classes: classes, Views: []learn.HeadView{{Mean: v, Scale: v}, {Mean: v, Scale: v}}}}
	}
	set := shop(t)
	for _, l := range []*learn.Learned{{}, h(4, learn.NoTool, "order_status"), h(4, "calculate_fee", "order_status")} {
		if err := l.Suits(4, set); err != nil {
			t.Error(err)
		}
	}
	for name, err := range map[string]error{
		"another size":    h(5, learn.NoTool, "order_status").Suits(4, set),
		"an unknown tool": h(4, "order_status", "refund").Suits(4, set),
		"no tools":        h(4, learn.NoTool, "order_status").Suits(4, nil),
	} {
		if err == nil {
			t.Errorf("%s: it suits", name)
		}
	}
}
