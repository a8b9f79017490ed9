package imprint

import (
	"errors"
	"fmt"
	"io"
	"time"

	"edge/internal/fault"
	"edge/internal/sealed"
)

// Step is one step of the gate, in its order.
type Step int

// The steps. What comes after them (the receipt) isn't this package's.
const (
	StepPrelude  Step = 1 + iota // magic, version, header length
	StepHeader                   // the header's digest, form and sense
	StepSize                     // the file is as long as declared, and zero between the sections
	StepIdentity                 // the live world is the recorded one
	StepPayload                  // every section has its digest
	StepRestore                  // the engine took the state as a whole
)

// String is the step's name in receipts.
func (s Step) String() string {
	switch s {
	case StepPrelude:
		return "prelude"
	case StepHeader:
		return "header"
	case StepSize:
		return "size"
	case StepIdentity:
		return "identity"
	case StepPayload:
		return "payload"
	case StepRestore:
		return "restore"
	}
	return fmt.Sprintf("step %d", int(s))
}

// MarshalText gives the step's name.
func (s Step) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Trail is what the gate did, for a receipt. Durations are measured on the monotonic clock and go into no artifact.
type Trail struct {
	// Step is the one that refused, or the last one that passed.
	Step Step
	// BytesRead counts what was read from the file so far.
	BytesRead int64
	// Identity and Digest are how long steps 4 and 5 took.
	Identity, Digest time.Duration
	// Waited is how long Verify held its caller up with the two: less, where Ahead had read before.
	Waited time.Duration
}

// VerifyMS is how long identity and digests took together, in milliseconds.
func (t Trail) VerifyMS() float64 { return float64(t.Identity+t.Digest) / float64(time.Millisecond) }

// Refusal is the gate saying no. It wraps the *fault.Error that has the code.
type Refusal struct {
	Trail Trail
	Fault *fault.Error
}

func (r *Refusal) Error() string { return r.Fault.Error() }

// Unwrap gives the fault, for errors.As and fault.From.
func (r *Refusal) Unwrap() error { return r.Fault }

// refuse makes a refusal whose message begins with the file's name.
func refuse(name string, trail Trail, err *fault.Error) *Refusal {
	err.Message = name + ": " + err.Message
	return &Refusal{Trail: trail, Fault: err}
}

// sectionFault gives the code for an error that reading a section ended with; nil for errors that say nothing about the
// file, such as cancellation and failures of the disk.
func sectionFault(section string, err error) *fault.Error {
	var mismatch *sealed.MismatchError
	switch {
	case errors.As(err, &mismatch):
		return fault.New(fault.CodeImprintPayloadMismatch, "section %q: %w", section, err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fault.New(fault.CodeImprintTruncated, "section %q: the file ends early: %w", section, err)
	}
	return nil
}
