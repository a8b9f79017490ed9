package runner

import (
	"os/exec"
	"testing"
	"time"

	"edge/tools"
)

// BenchmarkCall puts a call's cost beside the interpreter's own, in one run:
//
//	go test -run '^$' -bench Call -benchtime 100x ./runner
//
// bare is python3 that does nothing; cold is a call in a process started for it; prepared is one in a process that was
// started ahead and was idle by then. The function itself takes no time.
func BenchmarkCall(b *testing.B) {
	bench := newBench(b)
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command(bench.runner.Python().Path, "-I", "-S", "-B", "-c", "pass").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, mode := range []SandboxMode{SandboxAuto, SandboxOff} {
		bench := newBench(b, withSandbox(mode))
		req := CallRequest{Set: bench.freeze("return 1"), Call: tools.Call{ToolName: "f"}}
		call := func(b *testing.B) {
			if _, err := bench.runner.Call(b.Context(), req); err != nil {
				b.Fatal(err)
			}
		}
		b.Run("cold/sandbox="+string(mode), func(b *testing.B) {
			for b.Loop() {
				call(b)
			}
		})
		b.Run("prepared/sandbox="+string(mode), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				bench.runner.Prepare()
				a := bench.runner.ahead
				if <-a.started; a.err != nil {
					b.Fatal(a.err)
				}
				<-a.process.ready
				time.Sleep(300 * time.Millisecond) // as long as a model decodes at the very least
				b.StartTimer()
				call(b)
			}
		})
	}
}
