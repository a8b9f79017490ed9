package runner

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"edge/internal/canon"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/tools"
)

// CallRequest is one call that was frozen and validated.
type CallRequest struct {
	// Set names the file, its frozen bytes, and the tools in it.
	Set *tools.ActiveSet
	// Call is what runs; its arguments are canonical JSON.
	Call tools.Call
	// Context is JSON: what a function tool gets as its context's value. nil is null; an @edge_tool gets none.
	Context json.RawMessage
	// WithUserRights runs the call without a sandbox. It is for a commit call that a person has confirmed.
	WithUserRights bool
}

// LoadedFile is a file of the tool's own folder that was loaded beside the tools file.
type LoadedFile struct {
	// Path is relative to the tools file's folder.
	Path   string        `json:"path"`
	SHA256 digest.SHA256 `json:"sha256"`
}

// Result is what a call gave, and what is known about how it ran. Beside an error, its fields hold what was known by
// then.
type Result struct {
	// Canonical is the result as canonical JSON of at most tools.MaxResultBytes. It isn't checked against output_schema.
	Canonical []byte
	// Duration is the time from the request to the answer; the interpreter's start isn't part of it.
	Duration time.Duration
	// SecretVerified says that the answer carried this call's secret.
	SecretVerified bool
	// Sandbox is what the process found to be enforced, as canonical JSON; nil if it never said.
	Sandbox     json.RawMessage
	LoadedFiles []LoadedFile
	// Network says that edge itself may have reached other machines for the call: a hosted tool that was allowed to.
	Network bool
	// Told is set where the tool failed and its failure function put the error into words for the model, which are the
	// result.
	Told *Told
	// TracebackSHA256 digests the traceback of a function that raised; zero otherwise.
	TracebackSHA256 digest.SHA256
}

// Told says that a result is an error in words, and of which type it was.
type Told struct {
	// Kind is the name of the exception's class; ModelBehaviorError is the model's own mistake.
	Kind string `json:"kind"`
}

// Inspect runs the file's top level in a process of its own and tells what tools it declares. A file with problems isn't
// an error: the inspection holds them. Errors: those of a process, and tools_file_not_found.
func (r *Runner) Inspect(ctx context.Context, path string) (tools.Inspection, error) {
	path, err := toolsFile(path)
	if err != nil {
		return tools.Inspection{}, err
	}
	what := "tools file " + path
	ran, err := r.exchange(ctx, what, r.levelFor(false), request{Op: opInspect, Path: path})
	if err != nil {
		return tools.Inspection{}, fault.From(err)
	}
	r.warmFor(path, ran.response.Preload)
	in, err := ran.response.inspection(path)
	if err != nil {
		return tools.Inspection{}, fault.New(fault.CodeRunnerProtocolViolation, "%s: %w", what, err)
	}
	return in, nil
}

// warmFor has the processes that are started ahead from now on import what the file at path imported.
func (r *Runner) warmFor(path string, modules []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.warm = nil
	if len(modules) > 0 {
		r.warm = &preload{Folder: filepath.Dir(path), Modules: modules, path: path}
	}
}

// Measure gives the sandbox block that a read call would have here and now, as canonical JSON: what edge doctor tells.
func (r *Runner) Measure(ctx context.Context) (json.RawMessage, error) {
	dir, err := newFolder(r.tempDir())
	if err != nil {
		return nil, fmt.Errorf("runner: private folder: %w", err)
	}
	defer removeFolder(dir)
	path := filepath.Join(dir, "tools.py")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return nil, err
	}
	ran, err := r.exchange(ctx, "sandbox", r.levelFor(false), request{Op: opInspect, Path: path})
	if err != nil {
		return nil, fault.From(err)
	}
	return ran.sandbox, nil
}

// Call runs one function of the frozen file in a process of its own. Errors are *fault.Error: tools_file_changed,
// tool_raised, unsupported_tool_result, tool_result_oversized, runner_timeout, runner_crashed,
// runner_protocol_violation, sandbox_unavailable, cancelled.
func (r *Runner) Call(ctx context.Context, req CallRequest) (Result, error) {
	what := "tool " + req.Call.ToolName
	source := req.Set.FileSHA256()
	arguments := req.Call.Arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	ran, err := r.exchange(ctx, what, r.levelFor(req.WithUserRights), request{
		Op:           opCall,
		Path:         req.Set.Path(),
		SourceSHA256: &source,
		Function:     &function{ToolName: req.Call.ToolName},
		Arguments:    arguments,
		Context:      req.Context,
	})
	result := Result{Duration: ran.duration, SecretVerified: ran.verified, Sandbox: ran.sandbox}
	if ran.response != nil {
		result.LoadedFiles = ran.response.LoadedFiles
		if e := ran.response.Error; e != nil {
			// A digest that isn't one says nothing, and leaves the field as it is.
			result.TracebackSHA256, _ = digest.ParseSHA256(e.TracebackSHA256)
		}
	}
	if err != nil {
		return result, fault.From(err)
	}
	canonical, err := canon.Transform(ran.response.Result)
	if err != nil {
		return result, fault.New(fault.CodeUnsupportedToolResult, "%s: result: %w", what, err)
	}
	if len(canonical) > tools.MaxResultBytes {
		return result, fault.New(fault.CodeToolResultOversized, "%s: result: got %d bytes of canonical JSON, want at most %d", what, len(canonical), tools.MaxResultBytes)
	}
	result.Canonical, result.Told = canonical, ran.response.Told
	return result, nil
}

// toolsFile gives the absolute path of a file that is there.
func toolsFile(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("tools file: %w", err)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fault.New(fault.CodeToolsFileNotFound, "tools file %s isn't there", path)
	case errors.Is(err, fs.ErrPermission):
		return "", err
	case err != nil: // a link to itself, a name that is too long, a file where a folder should be
		return "", fault.New(fault.CodeToolsFileNotFound, "tools file: %w", err)
	case !info.Mode().IsRegular():
		return "", fault.New(fault.CodeToolsFileNotFound, "tools file %s isn't a regular file", path)
	}
	return path, nil
}

// exchanged is what one process said, and how that was measured.
type exchanged struct {
	response *response
	duration time.Duration
	verified bool
	sandbox  json.RawMessage
}

// exchange runs one request in a process that nobody else uses, and buries that process. An answer that reports a
// failure gives that failure as the error, with the answer beside it.
func (r *Runner) exchange(ctx context.Context, what string, l level, req request) (ran exchanged, err error) {
	secret := make([]byte, 32)
	if _, err := io.ReadFull(r.cfg.Rand, secret); err != nil {
		return ran, fmt.Errorf("runner: secret: %w", err)
	}
	p, err := r.obtain(l, req.Path)
	if err != nil {
		return ran, err
	}
	defer p.end()

	req.Protocol, req.Secret = protocol, hex.EncodeToString(secret)
	req.Limits = &limits{ResultBytes: tools.MaxResultBytes}
	if l == confined {
		req.Limits.AddressSpaceBytes = addressSpaceBytes
	}
	req.Probe, req.ProbePath = true, p.dir+".probe"
	defer os.Remove(req.ProbePath) // there only where nothing is enforced and the probe was stopped half-way
	body, err := json.Marshal(req)
	if err != nil {
		return ran, fmt.Errorf("runner: request: %w", err)
	}
	if len(body) > maxFrame {
		return ran, fault.New(fault.CodeInvalidToolArgs, "%s: arguments: got a request of %d bytes, want at most %d", what, len(body), maxFrame)
	}

	got, duration, failed := r.converse(ctx, p, what, body)
	if failed == nil {
		p.waitExit(exitGrace)
	}
	p.end()
	// The process is gone: its report is complete, and so is what followed the answer.
	ran.duration = duration
	said := p.enforced()
	if ran.sandbox, err = sandboxBlock(r.cfg.Sandbox, l, said, nil); err != nil {
		return ran, fmt.Errorf("runner: sandbox: %w", err)
	}
	switch {
	case failed != nil:
		return ran, failed
	case got.err != nil:
		return ran, p.failure(what, said, got.err)
	}
	if p.extra {
		return ran, fault.New(fault.CodeRunnerProtocolViolation, "%s: more than one answer", what)
	}
	answer, err := parseResponse(got.frame)
	if err != nil {
		return ran, fault.New(fault.CodeRunnerProtocolViolation, "%s: answer: %w", what, err)
	}
	if subtle.ConstantTimeCompare([]byte(answer.Secret), []byte(req.Secret)) != 1 {
		return ran, fault.New(fault.CodeRunnerProtocolViolation, "%s: the answer doesn't carry the call's secret", what)
	}
	ran.verified = true
	if err := answer.check(req.Op); err != nil {
		return ran, fault.New(fault.CodeRunnerProtocolViolation, "%s: answer: %w", what, err)
	}
	ran.response = answer
	if ran.sandbox, err = sandboxBlock(r.cfg.Sandbox, l, said, answer.Sandbox); err != nil {
		return ran, fault.New(fault.CodeRunnerProtocolViolation, "%s: sandbox: %w", what, err)
	}
	if l == confined && r.cfg.Sandbox == SandboxRequired {
		if err := allDenied(answer.Sandbox); err != nil {
			return ran, fault.New(fault.CodeSandboxUnavailable, "%s: the sandbox is required: %w", what, err)
		}
	}
	if !answer.OK {
		return ran, answer.Error.fault(what, req.Path)
	}
	return ran, nil
}

// converse sends the request once the interpreter has started, and waits for the answer. The time that it gives is the
// call's alone.
func (r *Runner) converse(ctx context.Context, p *process, what string, body []byte) (got answer, duration time.Duration, err error) {
	if _, ok, err := await(ctx, p.ready, startTimeout); err != nil {
		return got, 0, interrupted(what, err)
	} else if !ok {
		return got, 0, fault.New(fault.CodeRunnerTimeout, "%s: python didn't start within %v", what, startTimeout)
	}
	begun := time.Now()
	p.send(body)
	got, ok, err := await(ctx, p.answer, r.cfg.Timeout)
	duration = time.Since(begun)
	switch {
	case err != nil:
		return got, duration, interrupted(what, err)
	case !ok:
		return got, duration, fault.New(fault.CodeRunnerTimeout, "%s took longer than %v", what, r.cfg.Timeout)
	}
	return got, duration, nil
}

// interrupted is a call whose context ended.
func interrupted(what string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.New(fault.CodeRunnerTimeout, "%s: %w", what, err)
	}
	return fault.New(fault.CodeCancelled, "%s: %w", what, err)
}

// failure is why a process gave no answer.
func (p *process) failure(what string, said enforced, err error) error {
	switch {
	case said.Refused != "":
		return fault.New(fault.CodeSandboxUnavailable, "%s: sandbox: %s", what, said.Refused)
	case errors.Is(err, errFrame):
		return fault.New(fault.CodeRunnerProtocolViolation, "%s: answer: %w", what, err)
	}
	return fault.New(fault.CodeRunnerCrashed, "%s: the process ended without an answer (%s)", what, p.exitText())
}

// fault turns an error of the answer into one of edge's own.
func (e *wireError) fault(what, path string) error {
	place := ""
	if e.Line > 0 {
		place = fmt.Sprintf(" (line %d of %s)", e.Line, filepath.Base(path))
	}
	if e.Code == fault.CodeToolRaised {
		return fault.New(e.Code, "%s raised %s%s", what, e.Message, place)
	}
	return fault.New(e.Code, "%s: %s%s", what, e.Message, place)
}

// enforced is what the sandbox said of itself. It is asked after the process has ended, so the channel has too.
func (p *process) enforced() enforced {
	said := p.static
	// A second line takes the first one back: the sandbox stood, and then the interpreter couldn't be started.
	lines := bytes.Split(<-p.report, []byte("\n"))
	if last := lines[len(lines)-1]; len(last) > 0 && json.Unmarshal(last, &said) != nil {
		said.Refused = "its report can't be read"
	}
	return said
}
