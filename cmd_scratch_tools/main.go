package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"edge/internal/fault"
	"edge/runner"
	"edge/tools"
)

func main() {
	exe, _ := os.Executable()
	r, err := runner.New(runner.Config{Environ: os.Environ(), Stderr: os.Stderr, Executable: exe, Rand: rand.Reader, TempDir: os.TempDir(), Timeout: 10 * time.Second, Sandbox: runner.SandboxOff})
	if err != nil {
		fmt.Println("new:", err)
		return
	}
	defer r.Close()
	for _, path := range os.Args[1:] {
		in, err := r.Inspect(context.Background(), path)
		if err == nil {
			var set *tools.ActiveSet
			set, err = tools.Freeze(in, tools.Selection{})
			if err == nil {
				fmt.Println(path, set.SHA256())
				for _, t := range set.Tools() {
					p, _ := t.PromptJSON()
					fmt.Println("  ", string(p))
				}
				g, gerr := set.Grammar(tools.GrammarOptions{AllowCall: true, AllowAnswer: true})
				fmt.Println(len(g), gerr)
				continue
			}
		}
		e := fault.From(err)
		fmt.Println(path, e.Code, "|", e.Message)
		for _, p := range e.Problems {
			fmt.Printf("     %+v\n", p)
		}
	}
}
