package imprint

import (
	"context"
	"errors"
	"time"

	"edge/internal/fault"
	"edge/internal/sealed"
)

// Verified is an imprint that is exactly right for the live world it was verified against, with its content in memory.
// Only (*Unverified).Verify makes one, and Again another of it; the zero Verified restores nothing.
type Verified struct {
	id      ID
	header  Header
	tokens  []uint32
	learned []byte
	state   sealed.State
	trail   Trail
}

// Verify runs the gate's steps 4 and 5: it compares the recorded identity with live, and only if nothing differs reads
// and digests every section. live must be complete (Identity.Check).
//
// Errors: a *Refusal with the code of the first field that differs and all mismatches, imprint_payload_mismatch or
// imprint_truncated; ctx's; the operating system's, which say nothing about the file. On any error there is no Verified.
func (u *Unverified) Verify(ctx context.Context, live Identity) (*Verified, error) {
	if err := u.compare(live); err != nil {
		return nil, err
	}

	u.trail.Step = StepPayload
	v := &Verified{id: u.id, header: u.header.clone()}
	start := time.Now()
	err := u.readInto(ctx, v)
	u.trail.Digest = time.Since(start)
	if err != nil {
		return nil, u.refusal(err)
	}
	u.trail.Waited = u.trail.Identity + u.trail.Digest
	if u.early != nil {
		u.trail.Digest = max(u.trail.Digest, u.early.took) // what it took, also where nobody had to wait for it
	}
	v.trail = u.trail
	return v, nil
}

func (u *Unverified) readInto(ctx context.Context, v *Verified) (err error) {
	if v.tokens, err = u.tokens(ctx); err != nil {
		return err
	}
	if v.learned, err = u.load(ctx, SectionLearned); err != nil {
		return err
	}
	for i, s := range u.header.states() {
		layer, err := u.taken(ctx, i, s)
		if err := u.account(s, err); err != nil {
			return err
		}
		v.state = v.state.Then(layer)
	}
	return nil
}

// CheckIntegrity runs step 5 without step 4, in constant memory: the file is what its writer wrote, whatever the live
// world is. Errors as for Verify, apart from drift.
func (u *Unverified) CheckIntegrity(ctx context.Context) error {
	u.trail.Step = StepPayload
	start := time.Now()
	err := u.examine(ctx)
	u.trail.Digest = time.Since(start)
	if err != nil {
		return u.refusal(err)
	}
	return nil
}

func (u *Unverified) examine(ctx context.Context) error {
	if _, err := u.tokens(ctx); err != nil {
		return err
	}
	for _, s := range u.header.Sections {
		if s.Name == SectionTokens {
			continue
		}
		if err := u.account(s, sealed.Examine(ctx, u.src, u.body+s.Offset, s.seal())); err != nil {
			return err
		}
	}
	return nil
}

// ID names the artifact.
func (v *Verified) ID() ID { return v.id }

// Header is the table of contents; the caller owns it.
func (v *Verified) Header() Header { return v.header.clone() }

// Tokens are the prefix's token ids; the caller owns them.
func (v *Verified) Tokens() []uint32 { return cloneList(v.tokens) }

// Learned is what was learned, nil where nothing was; the caller owns it.
func (v *Verified) Learned() []byte { return append([]byte(nil), v.learned...) }

// State is the verified state, for comparing and for going on from its layers.
func (v *Verified) State() sealed.State { return v.state }

// Trail is what the gate did.
func (v *Verified) Trail() Trail { return v.trail }

// StateSink takes a state: a session of an engine that holds nothing yet. It checks that the engine consumed every byte
// and that the positions are 0 … s.Tokens()−1, and makes itself unusable when they aren't.
type StateSink interface {
	RestoreState(ctx context.Context, s sealed.State) error
}

// RestoreReport is what a restore did.
type RestoreReport struct {
	Tokens   int
	Bytes    int64
	Duration time.Duration
}

// Restore hands the verified state to sink, step 6. It may be called again with another sink. Errors: a *Refusal with
// the sink's code, engine_restore_failed where it has none; ctx's.
func (v *Verified) Restore(ctx context.Context, sink StateSink) (RestoreReport, error) {
	if v.state.Tokens() == 0 {
		return RestoreReport{}, errors.New("imprint: restore of a value that no gate made")
	}
	start := time.Now()
	err := sink.RestoreState(ctx, v.state)
	report := RestoreReport{Tokens: v.state.Tokens(), Bytes: v.state.Size(), Duration: time.Since(start)}
	if err == nil {
		return report, nil
	}
	if ctx.Err() != nil {
		return RestoreReport{}, err
	}
	trail := v.trail
	trail.Step = StepRestore
	var reason *fault.Error
	if !errors.As(err, &reason) {
		reason = fault.New(fault.CodeEngineRestoreFailed, "the engine didn't take the state: %w", err)
	}
	return RestoreReport{}, &Refusal{Trail: trail, Fault: reason}
}
