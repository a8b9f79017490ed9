package main

import (
	"context"
	"errors"

	"edge/imprint"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/learn"
	"edge/tools"
)

// record is a receipt in the making. It is written once: by the command when it succeeds, and otherwise for it.
type record struct {
	app     *app
	kind    string
	body    map[string]any
	written bool
}

// recorded runs a command that leaves a receipt also when it is refused.
func (a *app) recorded(ctx context.Context, kind string, do func(*record) error) error {
	r := &record{app: a, kind: kind, body: map[string]any{}}
	err := do(r)
	if err == nil || r.written {
		return err
	}
	if ctx.Err() != nil && !errors.As(err, new(*fault.Error)) {
		err = context.Canceled
	}
	path, _, writeErr := r.write(err)
	if writeErr != nil {
		return errors.Join(err, writeErr)
	}
	a.receipt = path
	return err
}

func (r *record) set(name string, value any) { r.body[name] = value }

func (r *record) tools(set *tools.ActiveSet) {
	if set == nil {
		return
	}
	r.set("tools_file_sha256", set.FileSHA256())
	r.set("active_set_sha256", set.SHA256())
	r.set("schema_generator_version", set.GeneratorVersion())
}

func (r *record) world(w learn.World) {
	r.set("model", reportModel(w))
	if id := identityOf(w.Model); !id.SHA256.IsZero() {
		r.set("served_model", id) // what the server told, and what it couldn't
	}
	r.set("engine", map[string]any{"name": w.Engine.Name, "version": w.Engine.Version, "backend": w.Engine.Backend, "libraries": w.Engine.Libraries})
}

// write writes the receipt. For a refusal it holds the code, the mismatches and the step of the gate that decided.
func (r *record) write(cause error) (path string, sum digest.SHA256, err error) {
	r.set("outcome", "ok")
	if cause != nil {
		e := fault.From(cause)
		r.set("outcome", "refused")
		r.set("error_code", e.Code)
		r.set("error_class", e.Class())
		if len(e.Mismatches) > 0 {
			r.set("mismatches", e.Mismatches)
		}
		var refusal *imprint.Refusal
		if errors.As(cause, &refusal) {
			r.set("gate_step", refusal.Trail.Step)
		}
	}
	r.written = true
	path, sum, err = r.app.receipts().Write(r.kind, r.body)
	return path, sum, stateError(err)
}
