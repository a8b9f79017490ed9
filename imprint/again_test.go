package imprint_test

import (
	"bytes"
	"testing"

	"edge/imprint"
	"edge/internal/fault"
)

func opened(t *testing.T, c imprint.Content) *imprint.Unverified {
	t.Helper()
	path, _ := write(t, c)
	u, err := imprint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.Close() })
	return u
}

// What was verified once stands for another opening of the same imprint, and for nothing that isn't exactly it.
func TestAgain(t *testing.T) {
	c := full()
	v, err := opened(t, c).Verify(t.Context(), c.Identity)
	if err != nil {
		t.Fatal(err)
	}
	again, err := v.Again(opened(t, c), c.Identity)
	if err != nil {
		t.Fatal(err)
	}
	if again.ID() != v.ID() || !bytes.Equal(again.State().Bytes(), c.State.Bytes()) || !bytes.Equal(again.Learned(), c.Learned) {
		t.Error("it isn't the same imprint")
	}
	if got, was := again.Trail().BytesRead, v.Trail().BytesRead; got >= was {
		t.Errorf("%d bytes were read, the first time %d", got, was)
	}
	var s sink
	if _, err := again.Restore(t.Context(), &s); err != nil || s.got.Tokens() != len(c.Tokens) {
		t.Errorf("restore: %d tokens, %v", s.got.Tokens(), err)
	}

	drifted := c.Identity
	drifted.Params.KVTypeK = "q4_0"
	_, err = v.Again(opened(t, c), drifted)
	wantRefusal(t, err, fault.CodeImprintParamsMismatch, imprint.StepIdentity)
	if _, err := v.Again(opened(t, c), imprint.Identity{}); err == nil {
		t.Error("an incomplete live identity passed")
	}
	if _, err := v.Again(opened(t, layered()), layered().Identity); err == nil {
		t.Error("another imprint passed")
	}
	if _, err := new(imprint.Verified).Again(opened(t, c), c.Identity); err == nil {
		t.Error("a value that no gate made stands for one")
	}
}
