package runner

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	"edge/tools"
)

// BenchmarkCall puts a call's cost beside the interpreter's own, in one run:
//
//	go test -run '^$' -bench Call -benchtime 100x ./runner
//
// bare is python3 that does nothing; cold is a call in a process started for it; prepared is one in a process that was
// started ahead and was idle by then. The function itself takes no time. On a machine that does other things too the
// median says more than the mean.
func BenchmarkCall(b *testing.B) {
	bench := newBench(b)
	b.Run("bare", func(b *testing.B) {
		timed(b, func() {}, func() {
			if err := exec.Command(bench.runner.Python().Path, "-I", "-S", "-B", "-c", "pass").Run(); err != nil {
				b.Fatal(err)
			}
		})
	})
	for _, mode := range []SandboxMode{SandboxAuto, SandboxOff} {
		bench := newBench(b, withSandbox(mode))
		req := CallRequest{Set: bench.freeze("return 1"), Call: tools.Call{ToolName: "f"}}
		call := func() {
			if _, err := bench.runner.Call(b.Context(), req); err != nil {
				b.Fatal(err)
			}
		}
		b.Run("cold/sandbox="+string(mode), func(b *testing.B) { timed(b, func() {}, call) })
		b.Run("prepared/sandbox="+string(mode), func(b *testing.B) {
			timed(b, func() {
				bench.runner.Prepare()
				a := bench.runner.ahead
				if <-a.started; a.err != nil {
					b.Fatal(a.err)
				}
				<-a.process.ready
				time.Sleep(300 * time.Millisecond) // as long as a model decodes at the very least
			}, call)
		})
	}
}

// timed measures work alone, and reports its median beside the mean.
func timed(b *testing.B, before, work func()) {
	var took []time.Duration
	for b.Loop() {
		b.StopTimer()
		before()
		b.StartTimer()
		began := time.Now()
		work()
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-median")
	b.ReportMetric(float64(took[0].Microseconds())/1000, "ms-least")
}
