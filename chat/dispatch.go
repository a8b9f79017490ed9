package chat

import (
	"context"
	"encoding/json"
	"time"

	"edge/internal/digest"
	"edge/internal/fault"
	"edge/runner"
	"edge/tools"
)

// Runner runs one call in a process of its own.
type Runner interface {
	Call(ctx context.Context, req runner.CallRequest) (runner.Result, error)
}

// Pending keeps commit calls until a person confirms them.
type Pending interface {
	Create(tools.Binding) (tools.Offer, error)
}

// The states of a call.
const (
	StatusOK      = "ok"
	StatusFailed  = "failed"  // it ran or tried to, and its result isn't used
	StatusRefused = "refused" // it didn't run
	StatusPending = "pending"
	StatusTold    = "told" // it failed, and its result is the error in words for the model
)

// ToolCall is one call as it is reported.
type ToolCall struct {
	ToolName             string               `json:"tool_name"`
	Arguments            json.RawMessage      `json:"arguments"`
	ExecutionLevel       tools.ExecutionLevel `json:"execution_level"`
	Status               string               `json:"status"`
	ErrorCode            *fault.Code          `json:"error_code"`
	Error                string               `json:"error,omitempty"`
	Told                 *runner.Told         `json:"told,omitempty"`
	Result               json.RawMessage      `json:"result"`
	ToolSchemaSHA256     digest.SHA256        `json:"tool_schema_sha256"`
	ArgsSHA256           digest.SHA256        `json:"args_sha256"`
	ResultSHA256         *digest.SHA256       `json:"result_sha256"`
	TracebackSHA256      *digest.SHA256       `json:"traceback_sha256,omitempty"`
	LoadedFiles          []runner.LoadedFile  `json:"loaded_files,omitempty"`
	RunnerSecretVerified bool                 `json:"runner_secret_verified"`
	NetworkUsedByEdge    bool                 `json:"network_used_by_edge"` // only a hosted tool does, with --allow-network
	DurationMS           float64              `json:"duration_ms"`
	Sandbox              json.RawMessage      `json:"sandbox"`
	ReturnDirect         bool                 `json:"return_direct"`
}

// PendingAction is what a user needs to confirm a commit call.
type PendingAction struct {
	Path              string          `json:"path"`
	ConfirmationToken string          `json:"confirmation_token"`
	Command           string          `json:"command"`
	ExpiresAt         string          `json:"expires_at"`
	ToolName          string          `json:"tool_name"`
	Arguments         json.RawMessage `json:"arguments"`
}

// Dispatcher validates calls and has them run.
type Dispatcher struct {
	Set     *tools.ActiveSet
	Runner  Runner
	Pending Pending
	Context json.RawMessage // JSON: what function tools get as their context's value; nil: null
	Ahead   func()          // starts what the next call runs in, when a call may come; may be nil
}

// Dispatch takes a call to its end: run and checked, or pending. On an error, which is a *fault.Error, the record says
// how far it came; a call that didn't validate has the status refused.
func (d *Dispatcher) Dispatch(ctx context.Context, call tools.Call) (ToolCall, *PendingAction, error) {
	record := d.record(call)
	if err := d.Validate(call); err != nil {
		return record, nil, record.fail(StatusRefused, err)
	}
	if record.ExecutionLevel == tools.Commit {
		action, err := d.offer(call)
		if err != nil {
			return record, nil, record.fail(StatusRefused, err)
		}
		code := fault.CodeToolConfirmationRequired
		record.Status, record.ErrorCode = StatusPending, &code
		return record, action, nil
	}
	return record, nil, d.Execute(ctx, call, &record, false)
}

// Checker is a Runner some of whose tools judge arguments beyond their schema, before anybody is asked to confirm them.
type Checker interface {
	Runner
	Check(call tools.Call) error
}

// Validate says whether a call follows the set, and whether its tool would take it.
func (d *Dispatcher) Validate(call tools.Call) error {
	if err := d.Set.Validate(call); err != nil {
		return err
	}
	if c, ok := d.Runner.(Checker); ok {
		return c.Check(call)
	}
	return nil
}

// record is a call's record before anything came of it.
func (d *Dispatcher) record(call tools.Call) ToolCall {
	record := ToolCall{ToolName: call.ToolName, Arguments: call.Arguments, ArgsSHA256: call.ArgsSHA256(), Status: StatusRefused}
	if tool, ok := d.Set.Lookup(call.ToolName); ok {
		record.ExecutionLevel, record.ToolSchemaSHA256, record.ReturnDirect = tool.ExecutionLevel, tool.SchemaSHA256, tool.ReturnDirect
	}
	return record
}

// Execute runs a call that has been validated, and confirmed where its level asks for that; record gets what came of it.
func (d *Dispatcher) Execute(ctx context.Context, call tools.Call, record *ToolCall, withUserRights bool) error {
	out, err := d.Runner.Call(ctx, runner.CallRequest{Set: d.Set, Call: call, Context: d.Context, WithUserRights: withUserRights})
	record.RunnerSecretVerified = out.SecretVerified
	record.DurationMS = milliseconds(out.Duration)
	record.Sandbox, record.LoadedFiles, record.NetworkUsedByEdge = out.Sandbox, out.LoadedFiles, out.Network
	if !out.TracebackSHA256.IsZero() {
		record.TracebackSHA256 = &out.TracebackSHA256
	}
	if err != nil {
		return record.fail(StatusFailed, err)
	}
	result, err := d.Set.CheckResult(call.ToolName, out.Canonical)
	if err != nil {
		return record.fail(StatusFailed, err)
	}
	sum := digest.SHA256Of(result)
	record.Status, record.Result, record.ResultSHA256 = StatusOK, result, &sum
	if out.Told != nil {
		code := fault.CodeToolRaised
		record.Status, record.Told, record.ErrorCode = StatusTold, out.Told, &code
	}
	return nil
}

func (c *ToolCall) fail(status string, err error) error {
	e := fault.From(err)
	c.Status, c.ErrorCode, c.Error = status, &e.Code, e.Message
	return e
}

func (d *Dispatcher) offer(call tools.Call) (*PendingAction, error) {
	binding, err := d.Set.Bind(call)
	if err != nil {
		return nil, err
	}
	if given := string(d.Context); given != "null" {
		binding.Context = given
	}
	o, err := d.Pending.Create(binding)
	if err != nil {
		return nil, err
	}
	return &PendingAction{
		Path: o.Path, ConfirmationToken: o.Token, ExpiresAt: o.ExpiresAt.Format(time.RFC3339),
		Command:  "edge tools confirm " + shellQuote(o.Path) + " --token " + shellQuote(o.Token) + " --json",
		ToolName: call.ToolName, Arguments: call.Arguments,
	}, nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
