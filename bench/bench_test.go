package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"edge/internal/fault"
)

func measured(t *testing.T, cfg Config) *Report {
	t.Helper()
	r, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRun(t *testing.T) {
	r := measured(t, config(t, 150, 6000))
	if len(r.Cases) != 2 || r.Cases[0].PrefixTokens > 150 || r.Cases[1].PrefixTokens > 6000 || r.Cases[1].PrefixTokens < 5990 {
		t.Fatalf("prefixes: %+v", r.Cases)
	}
	for _, c := range r.Cases {
		if c.WarmDecoded != c.SuffixTokens || c.ColdDecoded != c.PrefixTokens+c.SuffixTokens {
			t.Errorf("tokens decoded: cold %d, restored %d, prefix %d, question %d", c.ColdDecoded, c.WarmDecoded, c.PrefixTokens, c.SuffixTokens)
		}
		if c.BytesRead < c.StateBytes || c.StateBytes == 0 {
			t.Errorf("%d bytes read, for a state of %d", c.BytesRead, c.StateBytes)
		}
		for name, v := range map[string]*float64{"cold": c.ColdTTFT, "restored": c.RestoredTTFT, "suffix": c.SuffixOnly, "verify": c.Verify, "process": c.ProcessTTFT} {
			if v == nil || *v <= 0 {
				t.Errorf("%s of %d tokens: %v", name, c.PrefixTokens, v)
			}
		}
		if *c.ProcessTTFT != 60 || *c.PeakMemory != 1<<20 {
			t.Errorf("process: %v ms, %d bytes", *c.ProcessTTFT, *c.PeakMemory)
		}
		for _, name := range []string{"cold_ttft_ms", "restored_ttft_ms", "suffix_only_ms", "process_ttft_ms"} {
			runs := 3
			if name == "cold_ttft_ms" && c.PrefixTokens > manyTokens {
				runs = 2
			}
			if s := c.Spread[name]; s.Runs != runs || s.Min > s.Max {
				t.Errorf("spread of %s: %+v", name, s)
			}
		}
	}
	calls := r.Calls
	if calls.Requests != maxTools || len(calls.Each) != maxTools || calls.ValidatedCall == nil || calls.Plain == nil || *calls.ProcessCall != 70 {
		t.Errorf("calls: %+v", calls)
	}
	if calls.TokensForced == 0 || calls.PlainDecoded == 0 {
		t.Errorf("tokens of calls: %+v", calls)
	}
	if len(r.Threads) != 6 || r.Threads[0].Busy || !r.Threads[3].Busy || r.Threads[4].Threads != 2 || r.Threads[4].Chosen || !r.Threads[5].Chosen || r.Threads[0].Decode <= 0 {
		t.Errorf("threads: %+v", r.Threads)
	}
	if len(r.Tools) != 4 || r.Tools[3].Tools != 8 || r.Tools[3].PrefixTokens <= r.Tools[0].PrefixTokens {
		t.Errorf("tools: %+v", r.Tools)
	}
	if len(r.KVTypes) != 3 || r.KVTypes[1].Type != "q8_0" || r.KVTypes[1].RestoredTTFT == nil {
		t.Errorf("KV types: %+v", r.KVTypes)
	}
}

// TestSchema holds the names that scripts read.
func TestSchema(t *testing.T) {
	cfg := config(t, 150)
	cfg.Brief, cfg.Edge = true, nil
	raw, err := json.Marshal(measured(t, cfg))
	if err != nil {
		t.Fatal(err)
	}
	var r map[string]any
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	if r["schema"] != "edge.bench/v1" || r["ok"] != true {
		t.Errorf("schema %v, ok %v", r["schema"], r["ok"])
	}
	for _, name := range []string{"machine", "model", "engine", "cases", "calls", "resident", "threads", "tools", "kv_types", "sliding_window", "left_out", "elapsed_s"} {
		if _, ok := r[name]; !ok {
			t.Errorf("no member %q", name)
		}
	}
	c := r["cases"].([]any)[0].(map[string]any)
	for _, name := range []string{"prefix_tokens", "cold_ttft_ms", "restored_ttft_ms", "suffix_only_ms", "verify_ms", "restore_ms", "bytes_read", "verify_gb_per_s", "restore_gb_per_s"} {
		if _, ok := c[name].(float64); !ok {
			t.Errorf("cases[0].%s is %v", name, c[name])
		}
	}
	if v, ok := c["process_ttft_ms"]; !ok || v != nil {
		t.Errorf("process_ttft_ms without a process: %v", v)
	}
	if r["calls"] != nil || !strings.Contains(string(raw), "no prefix has tools") {
		t.Errorf("calls without tools: %v, %v", r["calls"], r["left_out"])
	}
}

func TestBudget(t *testing.T) {
	cfg := config(t, 150, 6000, 8000)
	cfg.Budget, cfg.Brief = 40*time.Millisecond, true
	r := measured(t, cfg)
	if n := len(r.Cases); n == 0 || r.Cases[n-1].Tools != 1 {
		t.Fatalf("no case with a tool: %+v", r.Cases)
	}
	if r.Calls == nil || r.Calls.Requests != 1 {
		t.Errorf("calls: %+v", r.Calls)
	}
	if len(r.LeftOut) == 0 || r.Cases[0].Spread["cold_ttft_ms"].Runs == 3 {
		t.Errorf("left out: %+v; cold runs: %+v", r.LeftOut, r.Cases[0].Spread["cold_ttft_ms"])
	}
}

func TestContextLimit(t *testing.T) {
	r := measured(t, config(t, 150, 20000, 40000))
	if n := len(r.Cases); n != 2 || r.Cases[1].PrefixTokens > 16384-room || r.Cases[1].PrefixTokens < 16000 {
		t.Errorf("cases: %d", n)
	}
	if len(r.LeftOut) != 2 {
		t.Errorf("left out: %+v", r.LeftOut)
	}
}

func TestResident(t *testing.T) {
	cfg, running := config(t, 6000), 0
	cfg.Serve = serving(&running)
	r := measured(t, cfg)
	x := r.Resident
	if x == nil || *x.TTFT != 60 || x.SuffixOnly == nil || x.Ratio == nil || x.Spread["ttft_ms"].Runs != 3 || running != 0 {
		t.Errorf("resident: %+v, %d servers run", x, running)
	}
	if r.Cases[0].Spread["suffix_only_ms"].Runs != 3 {
		t.Errorf("runs of the suffix alone: %+v", r.Cases[0].Spread)
	}
	cfg.Edge = func(ctx context.Context, args ...string) (Child, error) {
		c, err := restoring(ctx, args...)
		c.Served = false
		return c, err
	}
	if r := measured(t, cfg); r.Resident != nil || running != 0 || !strings.Contains(r.LeftOut[0].Why, "by itself") {
		t.Errorf("a chat that wasn't served: %+v, %+v, %d servers run", r.Resident, r.LeftOut, running)
	}
}

func TestRestoredTokensAreCounted(t *testing.T) {
	cfg := config(t, 150)
	cfg.Edge = func(ctx context.Context, args ...string) (Child, error) {
		c, err := restoring(ctx, args...)
		if cached := c.Chat.Usage.CachedTokens; cached != nil {
			*cached--
		}
		return c, err
	}
	if _, err := Run(t.Context(), cfg); !fault.Is(err, fault.CodeEngineRestoreFailed) {
		t.Errorf("got %v, want engine_restore_failed", err)
	}
}

func TestWork(t *testing.T) {
	cfg := config(t)
	w, err := WriteWork(t.Context(), cfg, 6000)
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Requests) != maxTools || len(w.Prefix) < 5990 || len(w.Suffix) == 0 || len(w.Requests[0].Suffix) == 0 {
		t.Errorf("work: %d requests, prefix %d, question %d", len(w.Requests), len(w.Prefix), len(w.Suffix))
	}
	var schema struct {
		OneOf []struct {
			Properties struct {
				Name struct{ Const string } `json:"tool_name"`
			}
		}
	}
	if err := json.Unmarshal(w.JSONSchema, &schema); err != nil || len(schema.OneOf) != maxTools || schema.OneOf[0].Properties.Name.Const != "book_room" {
		t.Errorf("schema: %v, %s", err, w.JSONSchema)
	}
	cfg.Runs, cfg.Edge = 1, nil
	calls, err := MeasureWork(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if calls.PrefixTokens != len(w.Prefix) || len(calls.Each) != maxTools || calls.Each[0].Prompt != w.Requests[0].Prompt {
		t.Errorf("calls: %+v", calls)
	}
}

func TestMarkdown(t *testing.T) {
	var out strings.Builder
	if err := measured(t, config(t, 150, 6000)).Markdown(&out); err != nil {
		t.Fatal(err)
	}
	columns, tables := 0, 0
	for line := range strings.Lines(out.String()) {
		switch n := strings.Count(line, "|"); {
		case !strings.HasPrefix(line, "|"):
			columns = 0
		case columns == 0:
			columns = n
			tables++
		case n != columns:
			t.Errorf("%d columns, want %d: %s", n-1, columns-1, line)
		}
	}
	if tables != 7 {
		t.Errorf("%d tables:\n%s", tables, out.String())
	}
}

func TestHTML(t *testing.T) {
	r := measured(t, config(t, 150, 6000))
	r.Sliding = &SlidingWindow{Model: r.Model, Cases: r.Cases}
	r.Model.Name = `<script src="https://example.org/x.js">`
	var out bytes.Buffer
	if err := r.HTML(&out); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	for _, reference := range []string{"<script", "<link", "<img", "href=", "url(", "@import"} {
		if strings.Contains(page, reference) {
			t.Errorf("the page has %s", reference)
		}
	}
	if strings.Count(page, "<polyline") < 8 || strings.Contains(page, "NaN") || strings.Contains(page, "ZgotmplZ") {
		t.Errorf("lines: %d", strings.Count(page, "<polyline"))
	}
	d := xml.NewDecoder(&out)
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestMachine(t *testing.T) {
	files := map[string]string{
		"/proc/cpuinfo": "processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: fpu avx2 avx512f\n", "/proc/meminfo": "MemTotal:       2048 kB\n",
		"/proc/loadavg": "1.25 0.9 0.8 1/2 3\n", "/proc/sys/kernel/osrelease": "6.1\n",
	}
	m := describeMachine(func(path string) ([]byte, error) {
		if text, ok := files[path]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	})
	if m.CPU != "Some CPU" || m.Memory != 2<<20 || *m.LoadBefore != 1.25 || m.Kernel != "6.1" || m.Governor != "" || len(m.Flags) != 2 {
		t.Errorf("%+v", m)
	}
	nothing := describeMachine(func(string) ([]byte, error) { return nil, fs.ErrNotExist })
	if nothing.LoadBefore != nil || !strings.Contains(nothing.String(), "unknown processor") {
		t.Errorf("%+v: %s", nothing, nothing)
	}
}

func TestSamples(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 2, 9}, 3}} {
		s := &samples{values: c.values}
		if got := *s.median(); got != c.want {
			t.Errorf("median of %v: %g", c.values, got)
		}
	}
	if (*samples)(nil).median() != nil || ratio(nil, nil) != nil {
		t.Error("nothing measured isn't null")
	}
	if s := (&samples{values: []float64{4, 1, 2}}).spread(); s != (Spread{1, 4, 3}) {
		t.Errorf("spread: %+v", s)
	}
}

func TestRunner(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	environ := append(os.Environ(), `BENCH_TEST_CHILD={"timings":{"ttft_ms":7},"usage":{"cached_tokens":3}}`)
	c, err := Runner(self, environ)(t.Context(), "chat")
	if err != nil {
		t.Fatal(err)
	}
	if c.Chat.Timings.TTFTMS != 7 || c.Chat.Usage.Cached() != 3 || c.WallMS <= 0 {
		t.Errorf("%+v", c)
	}
	if _, err := Runner(self, environ)(t.Context(), "chat", "and", "fail"); err == nil || !strings.Contains(err.Error(), "chat and fail") {
		t.Errorf("a failed child: %v", err)
	}
	stop, err := Server(self, environ)(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := Server(self, append(environ, "BENCH_TEST_CHILD=no"))(t.Context()); err == nil {
		t.Error("a server that said nothing")
	}
	release, err := Busy(self, append(environ, "BENCH_TEST_CHILD=spin"))(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Errorf("the busy loop: %v", err)
	}
	if got := Environment([]string{"EDGE_HOME=a", "EDGE_THREADS=3", "PATH=b"}, "c"); strings.Join(got, " ") != "PATH=b EDGE_HOME=c" {
		t.Errorf("environment: %q", got)
	}
}
