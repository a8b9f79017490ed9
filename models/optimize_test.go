package models_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edge/internal/digest"
	"edge/internal/fault"
	"edge/internal/home"
	"edge/models"
)

// fileType is the metadata entry that says which quantisation a file has.
func fileType(code uint32) func(*bytes.Buffer) {
	return func(b *bytes.Buffer) {
		str(b, "general.file_type")
		num(b, uint32(4), code)
	}
}

// slowModel is a file that says that it is Q4_1.
func slowModel() []byte { return tinyModel(1, fileType(3)) }

// measured is what a fake bench finds of one file.
type measured struct{ prefill, decode, kl float64 }

// fakeBench writes tiny models, and finds what the test says, by the file's layout; "" is the source.
type fakeBench struct {
	found map[models.Layout]measured
	fails map[string]error // by the step's name
	steps []string
}

func layoutAt(path string) models.Layout {
	layout := models.Layout(strings.TrimSuffix(filepath.Base(path), ".gguf"))
	if !slices.Contains(models.Layouts(), layout) {
		return ""
	}
	return layout
}

func (b *fakeBench) Requantize(_ context.Context, _, to string, l models.Layout) error {
	b.steps = append(b.steps, "write "+string(l))
	codes := map[models.Layout]uint32{models.F16: 1, models.Q4_0: 2, models.Q8_0: 7}
	if err := os.WriteFile(to, tinyModel(2, fileType(codes[l])), 0o600); err != nil {
		return err
	}
	return b.fails["write"]
}

func (b *fakeBench) Speed(_ context.Context, path string) (prefill, decode float64, err error) {
	m := b.found[layoutAt(path)]
	b.steps = append(b.steps, "measure "+string(layoutAt(path)))
	// One round of five is spoilt by something else on the machine.
	if n := len(b.steps); n%5 == 0 {
		m.prefill /= 10
	}
	return m.prefill, m.decode, b.fails["measure"]
}

func (b *fakeBench) Divergences(_ context.Context, _ string, others []string) (kl []float64, err error) {
	b.steps = append(b.steps, "compare")
	for _, path := range others {
		kl = append(kl, b.found[layoutAt(path)].kl)
	}
	return kl, b.fails["compare"]
}

// usual is what was measured of the default model: q4_0 is fastest and says something else.
func usual() map[models.Layout]measured {
	return map[models.Layout]measured{"": {152, 68, 0}, models.Q8_0: {258, 63, 0.004}, models.Q4_0: {325, 74, 0.24}, models.F16: {330, 39, 0.002}}
}

func TestOptimize(t *testing.T) {
	w := newWorld(t, models.Config{})
	path := writeFile(t, filepath.Join(t.TempDir(), "slow.gguf"), slowModel())
	if !w.CanOptimize(w.open(path)) {
		t.Error("nothing is said to a Q4_1 model's user")
	}
	bench := &fakeBench{found: usual()}
	o, err := w.Optimize(t.Context(), path, models.OptimizeOptions{Bench: bench, Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	if o.Recommended != models.Q8_0 || !o.Measured || o.Threads != 2 || o.Source.SHA256 != digest.SHA256Of(slowModel()) || o.Source.Layout != "q4_1" {
		t.Errorf("got %+v", o)
	}
	if len(o.Results) != 4 || !o.Results[0].AsItIs || o.Results[1].Prefill != 258 || o.Results[1].KL != 0.004 || o.Results[1].Size != int64(len(tinyModel(2, fileType(7)))) {
		t.Errorf("got results %+v", o.Results)
	}
	wantSteps := []string{
		"write q8_0", "write q4_0", "write f16",
		"measure ", "measure q8_0", "measure q4_0", "measure f16", "measure f16", "measure q4_0", "measure q8_0", "measure ",
	}
	if !slices.Equal(bench.steps[:len(wantSteps)], wantSteps) || bench.steps[len(bench.steps)-1] != "compare" || len(bench.steps) != 3+5*4+1 {
		t.Errorf("got steps %q", bench.steps)
	}

	// It has a name and a digest of its own, and the list says what it was made of.
	m := w.open("slow-q8_0")
	if !m.Pinned || m.FileType != "Q8_0" || m.SHA256 != digest.SHA256Of(readFile(t, m.Path)) || m != *o.Made {
		t.Errorf("got %+v, and was told %+v", m, o.Made)
	}
	list, err := w.List()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(list, func(l models.Listed) bool { return l.Name == "slow-q8_0" })
	if at < 0 || list[at].SourceSHA256 != o.Source.SHA256 || list[at].Layout != models.Q8_0 || list[at].Source != "slow" || list[at].Path != m.Path || list[at].SHA256 != m.SHA256 {
		t.Errorf("got list %+v", list)
	}
	if n := len(slices.DeleteFunc(list, func(l models.Listed) bool { return l.Path != m.Path })); n != 1 {
		t.Errorf("it is listed %d times", n)
	}
	if left := hidden(t, w.home.Path()); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
	_, _, err = w.Pull(t.Context(), "slow-q8_0", models.PullOptions{})
	wantFault(t, err, fault.CodeInvalidArguments, "made here")

	// A second run does nothing.
	idle := &fakeBench{}
	again, err := w.Optimize(t.Context(), path, models.OptimizeOptions{Bench: idle})
	if err != nil || len(idle.steps) != 0 || again.Measured || again.Recommended != o.Recommended || *again.Made != m || len(again.Results) != 4 {
		t.Errorf("again: %+v, %v; steps %q", again, err, idle.steps)
	}
	if _, found, err := w.Optimized(t.Context(), path, ""); !found || err != nil {
		t.Errorf("what was found isn't known: %v", err)
	}
	if w.CanOptimize(w.open(path)) {
		t.Error("it is done, and still said")
	}
	if _, err := w.Optimize(t.Context(), path, models.OptimizeOptions{Bench: idle, Layout: models.Q8_0}); err != nil || len(idle.steps) != 0 {
		t.Errorf("the layout that was made is asked for: %v; steps %q", err, idle.steps)
	}

	// A layout that isn't recommended is made where it is asked for.
	asked, err := w.Optimize(t.Context(), path, models.OptimizeOptions{Bench: &fakeBench{found: usual()}, Layout: models.Q4_0})
	if err != nil || asked.Recommended != "" || asked.Made == nil || asked.Made.Name != "slow-q4_0" || w.open("slow-q4_0").FileType != "Q4_0" {
		t.Errorf("asked for q4_0: %+v, %v", asked, err)
	}

	// Changed bytes are refused; a file that is gone is made again.
	content := readFile(t, m.Path)
	writeFile(t, m.Path, append(bytes.Clone(content), 0))
	_, err = w.Open(t.Context(), "slow-q8_0")
	wantFault(t, err, fault.CodeModelDigestMismatch)
	if err := os.Remove(m.Path); err != nil {
		t.Fatal(err)
	}
	_, err = w.Open(t.Context(), "slow-q8_0")
	wantFault(t, err, fault.CodeModelNotFound, "edge models optimize")
	if _, err := w.Optimize(t.Context(), path, models.OptimizeOptions{Bench: &fakeBench{found: usual()}}); err != nil || w.open("slow-q8_0").SHA256 != m.SHA256 {
		t.Errorf("made again: %v", err)
	}
}

func TestWhatIsRecommended(t *testing.T) {
	for name, test := range map[string]struct {
		change map[models.Layout]measured
		want   models.Layout
	}{
		"as measured":                   {nil, models.Q8_0},
		"f16 says more, and is faster":  {map[models.Layout]measured{models.F16: {600, 60, 0.002}}, models.F16},
		"q4_0 says the same":            {map[models.Layout]measured{models.Q4_0: {325, 74, 0.0099}}, models.Q4_0},
		"q4_0 is at the bound":          {map[models.Layout]measured{models.Q4_0: {325, 74, models.MaxDivergence}}, models.Q8_0},
		"none says the same":            {map[models.Layout]measured{models.Q8_0: {258, 63, 0.02}, models.F16: {330, 39, 0.02}}, ""},
		"none is faster":                {map[models.Layout]measured{"": {400, 80, 0}}, ""},
		"one is faster, but not by 5 %": {map[models.Layout]measured{"": {256, 62, 0}, models.F16: {1, 1, 0}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, models.Config{})
			path := writeFile(t, filepath.Join(t.TempDir(), "slow.gguf"), slowModel())
			bench := &fakeBench{found: usual()}
			for l, m := range test.change {
				bench.found[l] = m
			}
			o, err := w.Optimize(t.Context(), path, models.OptimizeOptions{Bench: bench})
			if err != nil || o.Recommended != test.want || (o.Made != nil) != (test.want != "") {
				t.Fatalf("got %q and %+v (%v), want %q", o.Recommended, o.Made, err, test.want)
			}
			again, found, err := w.Optimized(t.Context(), path, "")
			if err != nil || !found || again.Recommended != test.want {
				t.Errorf("again: %+v, %v", again, err)
			}
		})
	}
}

func TestWhatIsNotOptimized(t *testing.T) {
	dir := t.TempDir()
	path := writeFile(t, filepath.Join(dir, "slow.gguf"), slowModel())
	text := writeFile(t, filepath.Join(dir, "text.gguf"), []byte("not a model"))
	broken := errors.New("the engine said no")
	full := func(string) (int64, error) { return 0, nil }

	tests := map[string]struct {
		name    string
		layout  models.Layout
		fails   map[string]error
		prepare func(*world)
		want    fault.Code
		says    string
	}{
		"not a GGUF":    {name: text, want: fault.CodeModelFileInvalid, says: "GGUF"},
		"no such model": {name: "nope", want: fault.CodeModelNotFound},
		"of a server":   {name: "ollama:llama", want: fault.CodeInvalidArguments},
		"a full disk":   {name: path, prepare: func(w *world) { w.SetFree(full) }, want: fault.CodeNoSpace},
		"what it is":    {name: writeFile(t, filepath.Join(dir, "fast.gguf"), tinyModel(1, fileType(7))), layout: models.Q8_0, want: fault.CodeInvalidArguments, says: "already"},
		"in the way":    {name: path, prepare: func(w *world) { writeFile(t, filepath.Join(w.home.Models(), "slow-q4_0.gguf"), []byte("mine")) }, want: fault.CodeInvalidArguments, says: "in the way"},
		"a bad record":  {name: path, prepare: func(w *world) { writeFile(t, filepath.Join(w.home.Models(), "layouts.json"), []byte("{}")) }, want: fault.CodeModelDigestMismatch, says: "layouts.json"},
		"writing fails": {name: path, fails: map[string]error{"write": broken}, want: fault.CodeInternal},
		"measure fails": {name: path, fails: map[string]error{"measure": broken}, want: fault.CodeInternal},
		"compare fails": {name: path, fails: map[string]error{"compare": broken}, want: fault.CodeInternal},
		"full meanwhile": {name: path, fails: map[string]error{"write": broken}, prepare: func(w *world) {
			looks := 0
			w.SetFree(func(string) (int64, error) {
				if looks++; looks == 1 {
					return 1 << 40, nil
				}
				return 0, nil
			})
		}, want: fault.CodeNoSpace},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, models.Config{})
			if err := home.Ensure(w.home.Models()); err != nil {
				t.Fatal(err)
			}
			if test.prepare != nil {
				test.prepare(w)
			}
			_, err := w.Optimize(t.Context(), test.name, models.OptimizeOptions{Layout: test.layout, Bench: &fakeBench{found: usual(), fails: test.fails}})
			if fault.From(err).Code != test.want || !strings.Contains(err.Error(), test.says) {
				t.Fatalf("got %v, want %s saying %q", err, test.want, test.says)
			}
			if left := hidden(t, w.home.Path()); len(left) != 0 {
				t.Errorf("left behind: %q", left)
			}
			if _, err := w.Open(t.Context(), "slow-q8_0"); err == nil {
				t.Error("a model was made all the same")
			}
		})
	}
	if l, err := models.ParseLayout("Q8_0"); l != models.Q8_0 || err != nil {
		t.Errorf("got %q, %v", l, err)
	}
	_, err := models.ParseLayout("q3_k")
	wantFault(t, err, fault.CodeInvalidArguments, "q3_k", "q8_0")
}
