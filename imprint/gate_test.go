package imprint_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"testing"

	"edge/imprint"
	"edge/internal/fault"
	"edge/internal/sealed"
)

// sink is an engine's session that holds what it was given.
type sink struct {
	got sealed.State
	err error
}

func (s *sink) RestoreState(_ context.Context, state sealed.State) error {
	s.got = state
	return s.err
}

func TestWhatIsBakedIsRestored(t *testing.T) {
	for name, c := range map[string]imprint.Content{
		"full": full(), "small": small(),
		"segments": func() imprint.Content {
			c := full()
			c.State = sealed.Fresh(pattern(3, 2*sealed.SegmentSize+999), len(c.Tokens))
			c.Learned = pattern(4, sealed.SegmentSize+1)
			return c
		}(),
	} {
		t.Run(name, func(t *testing.T) { restored(t, c, false) })
		t.Run(name+" ahead", func(t *testing.T) { restored(t, c, true) })
	}
}

func restored(t *testing.T, c imprint.Content, ahead bool) {
	path, raw := write(t, c)
	u, err := imprint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if ahead {
		u.Ahead(context.Background())
	}
	tokens, err := u.Tokens()
	if err != nil || !slices.Equal(tokens, c.Tokens) {
		t.Errorf("tokens %v, %v", tokens, err)
	}
	learned, err := u.Learned()
	if err != nil || !bytes.Equal(learned, c.Learned) || (learned == nil) != (len(c.Learned) == 0) {
		t.Errorf("learned %d bytes, %v", len(learned), err)
	}
	v, err := u.Verify(context.Background(), c.Identity)
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Close(); err != nil {
		t.Error(err)
	}
	if err := os.Remove(path); err != nil {
		t.Error(err)
	}
	var engine sink
	report, err := v.Restore(context.Background(), &engine)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(engine.got.Bytes(), c.State.Bytes()) || engine.got.Tokens() != len(c.Tokens) {
		t.Error("the engine got another state")
	}
	if report.Tokens != len(c.Tokens) || report.Bytes != int64(len(c.State.Bytes())) {
		t.Errorf("report %+v", report)
	}
	if !slices.Equal(v.Tokens(), c.Tokens) || !bytes.Equal(v.Learned(), c.Learned) || v.ID() != u.ID() {
		t.Error("the verified imprint holds another content")
	}
	trail := v.Trail()
	if trail.Step != imprint.StepPayload || trail.BytesRead < int64(len(c.State.Bytes())) || trail.VerifyMS() <= 0 {
		t.Errorf("trail %+v", trail)
	}
	if u.Trail().BytesRead > 2*int64(len(raw)) {
		t.Errorf("read %d bytes of a file of %d", u.Trail().BytesRead, len(raw))
	}
}

// imprint-v1 §6: step 4 comes before step 5; of a drifted imprint not one payload byte is read, whether they are right or not.
func TestIdentityIsDecidedBeforeThePayloadIsRead(t *testing.T) {
	_, raw := write(t, full())
	raw[len(raw)-1] ^= 1
	u, err := imprint.OpenBytes(raw)
	if err != nil {
		t.Fatal(err)
	}
	before := u.Trail().BytesRead
	live := full().Identity
	live.Params.NUBatch++
	_, err = u.Verify(context.Background(), live)
	wantRefusal(t, err, fault.CodeImprintParamsMismatch, imprint.StepIdentity)
	var r *imprint.Refusal
	if errors.As(err, &r); r.Trail.BytesRead != before {
		t.Errorf("read %d bytes for a comparison", r.Trail.BytesRead-before)
	}
	_, err = u.Verify(context.Background(), full().Identity)
	wantRefusal(t, err, fault.CodeImprintPayloadMismatch, imprint.StepPayload)
}

// What is read ahead decides nothing: drift is told first, damage after it, and a closed imprint is left alone.
func TestAheadIsHeardAfterTheIdentity(t *testing.T) {
	path, raw := write(t, full())
	raw[len(raw)-1] ^= 1
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	u, err := imprint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	u.Ahead(context.Background())
	live := full().Identity
	live.Params.NUBatch++
	_, err = u.Verify(context.Background(), live)
	wantRefusal(t, err, fault.CodeImprintParamsMismatch, imprint.StepIdentity)
	_, err = u.Verify(context.Background(), full().Identity)
	wantRefusal(t, err, fault.CodeImprintPayloadMismatch, imprint.StepPayload)
	if err := u.Close(); err != nil {
		t.Error(err)
	}
	closed, err := imprint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	closed.Ahead(context.Background())
	if err := closed.Close(); err != nil {
		t.Error(err)
	}
	if _, err := closed.Verify(context.Background(), full().Identity); err == nil {
		t.Error("a closed imprint was verified")
	}
}

func TestVerifyStopsWhenCancelled(t *testing.T) {
	_, raw := write(t, full())
	u, err := imprint.OpenBytes(raw)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := u.Verify(ctx, full().Identity); fault.From(err).Code != fault.CodeCancelled {
		t.Errorf("Verify: %v", err)
	}
	if err := u.CheckIntegrity(ctx); fault.From(err).Code != fault.CodeCancelled {
		t.Errorf("CheckIntegrity: %v", err)
	}
}

// imprint-v1 §6, step 6.
func TestRestoreRefusedByTheEngine(t *testing.T) {
	v, err := verify(t, full().Identity)
	if err != nil {
		t.Fatal(err)
	}
	_, err = v.Restore(context.Background(), &sink{err: errors.New("64 of 100 bytes consumed")})
	wantRefusal(t, err, fault.CodeEngineRestoreFailed, imprint.StepRestore)
	_, err = v.Restore(context.Background(), &sink{err: fault.New(fault.CodeSessionClosed, "closed")})
	wantRefusal(t, err, fault.CodeSessionClosed, imprint.StepRestore)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err = v.Restore(ctx, &sink{err: context.Canceled}); fault.From(err).Code != fault.CodeCancelled {
		t.Errorf("cancelled: %v", err)
	}
}

// Outside the package a Verified can only be the zero value, and that restores nothing.
func TestAnInventedVerifiedRestoresNothing(t *testing.T) {
	var engine sink
	if _, err := new(imprint.Verified).Restore(context.Background(), &engine); err == nil || engine.got.Bytes() != nil {
		t.Errorf("restored %d bytes, %v", len(engine.got.Bytes()), err)
	}
}

// What a caller gets is the caller's: changing it changes no later answer.
func TestAnswersShareNoMemory(t *testing.T) {
	v, err := verify(t, full().Identity)
	if err != nil {
		t.Fatal(err)
	}
	h := v.Header()
	h.Identity.Tools[0].Name, h.Identity.Engine.Libraries[0].Name, h.Sections[0].Segments[0] = "x", "x", imprint.ID{}
	v.Tokens()[0] = 99
	v.Learned()[0] ^= 1
	if again := v.Header(); again.Identity.Tools[0].Name == "x" || again.Identity.Engine.Libraries[0].Name == "x" || again.Sections[0].Segments[0].IsZero() {
		t.Error("the header changed")
	}
	if v.Tokens()[0] == 99 || v.Learned()[0] != full().Learned[0] {
		t.Error("the content changed")
	}
}
