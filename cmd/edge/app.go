package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"edge/imprint"
	"edge/internal/fault"
	"edge/internal/home"
	"edge/models"
	"edge/receipts"
	"edge/runner"
	"edge/tools"
)

// app is what every command works with.
type app struct {
	args     []string
	in       io.Reader
	out      io.Writer // answers, and with --json exactly one JSON object
	err      io.Writer // everything else
	environ  []string
	started  time.Time
	json     bool
	terminal bool // err is a terminal

	served  *served // nil in a process of its own
	home    home.Dir
	receipt string // path of the receipt that this command wrote, for the error object
}

func newApp(args []string, in io.Reader, out, err io.Writer, environ []string) *app {
	a := &app{args: args, in: in, out: out, err: err, environ: environ, started: time.Now()}
	a.json = slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
	if f, ok := err.(*os.File); ok {
		a.terminal = term.IsTerminal(int(f.Fd()))
	}
	return a
}

// execute runs the command line and gives the exit status.
func execute(ctx context.Context, a *app) int {
	root := a.root()
	root.SetArgs(a.args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var elsewhere exitStatus
	if errors.As(err, &elsewhere) {
		return int(elsewhere)
	}
	if ctx.Err() != nil && !errors.As(err, new(*fault.Error)) {
		err = context.Canceled
	}
	return a.fail(err)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "edge",
		Short:         "Local models that call your Python functions, and learn them",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version(),
	}
	asJSON := root.PersistentFlags().Bool("json", false, "print exactly one JSON object to standard output")
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) (err error) {
		a.json = *asJSON // until here it was a guess, for errors in the flags themselves
		if err := noneEmpty(c); err != nil {
			return err
		}
		a.home, err = home.Resolve(a.getenv, runtime.GOOS)
		return err
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fault.New(fault.CodeInvalidArguments, "%s: %w", c.CommandPath(), err).WithHint("see: %s --help", c.CommandPath())
	})
	root.AddCommand(a.setupCommand(), a.doctorCommand(), a.modelsCommand(), a.demoCommand(), a.toolsCommand(), a.imprintCommand(), a.receiptsCommand(), a.factsCommand(), a.serveCommand(), a.evolveCommand(), a.agentCommand(), a.benchCommand(), a.versionCommand())
	a.strictArguments(root)
	return root
}

// noneEmpty refuses a flag that was given an empty text: mostly a variable of a script that isn't set, and what was meant
// would be left out without a word. What an empty prompt is, the chat says.
func noneEmpty(c *cobra.Command) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.String() == "" && f.Name != "prompt" {
			err = fault.New(fault.CodeInvalidArguments, "--%s is empty", f.Name).WithHint("leave it out, or give it a value")
		}
	})
	return err
}

// strictArguments gives errors of cobra's own checks a code and words, and makes a group without a verb an error.
func (a *app) strictArguments(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if check(c, args) == nil {
				return nil
			}
			wants := "no arguments"
			if _, names, ok := strings.Cut(c.Use, " "); ok {
				wants = names
			}
			got := "nothing"
			if len(args) > 0 {
				got = fmt.Sprintf("%q", args)
			}
			return fault.New(fault.CodeInvalidArguments, "%s takes %s, and got %s", c.CommandPath(), wants, got).WithHint("see: %s --help", c.CommandPath())
		}
	}
	if c.HasSubCommands() && !c.Runnable() {
		c.RunE = func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fault.New(fault.CodeInvalidArguments, "%s has no command %q", c.CommandPath(), args[0]).WithHint("see: %s --help", c.CommandPath())
			}
			if a.json {
				return fault.New(fault.CodeInvalidArguments, "%s needs a command", c.CommandPath()).WithHint("see: %s --help", c.CommandPath())
			}
			return c.Help()
		}
		c.Args = cobra.ArbitraryArgs
	}
	for _, sub := range c.Commands() {
		a.strictArguments(sub)
	}
}

func (a *app) getenv(name string) string {
	for _, pair := range slices.Backward(a.environ) {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

func (a *app) models() (*models.Store, error) {
	return models.New(models.Config{
		Home: a.home, Environ: a.environ, HuggingFace: a.getenv("EDGE_HF_ENDPOINT"), HuggingFaceToken: a.getenv("HF_TOKEN"),
		Notify: a.notify, Progress: a.transfer,
	})
}

func (a *app) imprints() (*imprint.Store, error) {
	s, err := imprint.NewStore(a.home.Imprints())
	return s, stateError(err)
}

// stateError is for failures to keep edge's own state: whatever the system's reason is, EDGE_HOME is what a user can
// change.
func stateError(err error) error {
	if err == nil {
		return nil
	}
	e := fault.From(err)
	if e.Code == fault.CodeInternal && errors.As(err, new(*fs.PathError)) {
		e = fault.New(fault.CodePathNotWritable, "%w", err)
	}
	if e.Code == fault.CodePathNotWritable {
		e = e.WithHint("set EDGE_HOME to a folder that you can write to")
	}
	return e
}

func (a *app) receipts() *receipts.Store {
	return receipts.NewStore(receipts.Config{Dir: a.home.Receipts(), Version: version()})
}

func (a *app) pending() (*tools.PendingStore, error) {
	s, err := tools.NewPendingStore(a.home.Pending(), time.Now, rand.Reader)
	return s, stateError(err)
}

// newRunner makes the runner that executes Python.
func (a *app) newRunner(mode runner.SandboxMode) (*runner.Runner, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	printed := a.err
	if a.terminal {
		printed = &toolOutput{w: a.err}
	}
	cfg := runner.Config{Environ: a.environ, Stderr: printed, Sandbox: mode, Executable: self, Rand: rand.Reader, Memory: a.home.Python()}
	if a.served == nil {
		return runner.New(cfg)
	}
	a.served.python = &cfg
	return a.served.host.spares.runner(cfg)
}
