package tools

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"edge/internal/atomicfile"
	"edge/internal/digest"
	"edge/internal/fault"
)

// PendingLifetime is how long a commit call may wait for its confirmation.
const PendingLifetime = 10 * time.Minute

// PendingStore keeps the commit calls that wait for a person, one file each, in a folder of their own.
//
// ID.json holds the action, ID.claim says that it was confirmed, ID.done how it ended. A claim is an empty file made
// exclusively and on disk before the action runs: its being there is the whole message, so it can't be torn, and an
// action whose process died after it stays claimed. The action's file is never written again; confirming never needs a
// lock. The store may be used by many processes at once.
type PendingStore struct {
	dir   string
	clock func() time.Time
	rand  io.Reader
}

// NewPendingStore opens the store in dir, which is made with mode 0700, or set to it where it is wider.
func NewPendingStore(dir string, clock func() time.Time, rand io.Reader) (*PendingStore, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("pending actions: %w", err)
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err == nil {
		resolved, err = filepath.Abs(resolved)
	}
	if err != nil {
		return nil, fmt.Errorf("pending actions: %w", err)
	}
	info, err := os.Stat(resolved)
	if err != nil {
		return nil, fmt.Errorf("pending actions: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(resolved, 0o700); err != nil {
			return nil, fmt.Errorf("pending actions: %w", err)
		}
	}
	return &PendingStore{dir: resolved, clock: clock, rand: rand}, nil
}

// Offer is a new pending action, with the one copy of its token.
type Offer struct {
	ID        string
	Path      string
	Token     string
	ExpiresAt time.Time
}

// Create writes a pending action. The token is in no file; without it the action can't be confirmed.
func (s *PendingStore) Create(b Binding) (Offer, error) {
	secret := make([]byte, 32)
	if _, err := io.ReadFull(s.rand, secret); err != nil {
		return Offer{}, fmt.Errorf("pending action: %w", err)
	}
	id, token := fmt.Sprintf("%x", secret[:16]), fmt.Sprintf("%x", secret[16:])
	now := s.clock().UTC().Truncate(time.Millisecond)
	r := record{
		Schema:      pendingSchema,
		ID:          id,
		Path:        s.file(id, ".json"),
		CreatedAt:   now,
		ExpiresAt:   now.Add(PendingLifetime),
		TokenSHA256: digest.SHA256Of([]byte(token)),
		Binding:     b,
	}
	text, err := r.seal(token)
	if err != nil {
		return Offer{}, fmt.Errorf("pending action: %w", err)
	}
	if err := atomicfile.WriteBytes(r.Path, 0o600, text); err != nil {
		return Offer{}, err
	}
	return Offer{id, r.Path, token, r.ExpiresAt}, nil
}

// PendingAction is a pending action as its file has it; nothing of it is to be trusted before Check.
type PendingAction struct {
	record record
	text   []byte
}

// Load reads the action at path, which must be a file of this store: pending_action_not_found or
// pending_action_malformed otherwise. A copy elsewhere is not a pending action, since its claim would be elsewhere too.
func (s *PendingStore) Load(path string) (PendingAction, error) {
	missing := func() error {
		return fault.New(fault.CodePendingNotFound, "there is no pending action at %s", EscapeForDisplay(path))
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return PendingAction{}, fmt.Errorf("pending action: %w", err)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if errors.Is(err, fs.ErrNotExist) {
		return PendingAction{}, missing()
	} else if err != nil {
		return PendingAction{}, fmt.Errorf("pending action: %w", err)
	}
	id, isRecord := strings.CutSuffix(filepath.Base(abs), ".json")
	if !isRecord || dir != s.dir {
		return PendingAction{}, fault.New(fault.CodePendingNotFound, "%s isn't a file of the pending actions in %s", EscapeForDisplay(path), s.dir)
	}
	text, err := os.ReadFile(s.file(id, ".json"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, claimErr := os.Lstat(s.file(id, ".claim")); claimErr == nil {
			return PendingAction{}, fault.New(fault.CodeConfirmationAlreadyClaimed, "the action %s was confirmed before, and its file was pruned", id)
		}
		return PendingAction{}, missing()
	case err != nil:
		return PendingAction{}, fmt.Errorf("pending action: %w", err)
	}
	a := PendingAction{text: text}
	if err := a.record.read(text); err != nil {
		return PendingAction{}, fault.New(fault.CodePendingMalformed, "%s can't be read as a pending action: %w", EscapeForDisplay(path), err)
	}
	if a.record.Path != s.file(id, ".json") {
		return PendingAction{}, bindingMismatch("path", s.file(id, ".json"), a.record.Path)
	}
	return a, nil
}

// CheckedAction is an action that its token opened, is whole, and was neither claimed nor expired when it was checked.
type CheckedAction struct{ action PendingAction }

// Binding is what was offered, and all that may run.
func (c CheckedAction) Binding() Binding { return c.action.record.Binding }

// ID names the action.
func (c CheckedAction) ID() string { return c.action.record.ID }

// CreatedAt is when the action was offered.
func (c CheckedAction) CreatedAt() time.Time { return c.action.record.CreatedAt }

// ExpiresAt is when the offer ends.
func (c CheckedAction) ExpiresAt() time.Time { return c.action.record.ExpiresAt }

// Check opens a with its token: confirmation_token_invalid, confirmation_binding_mismatch where any byte of the file
// isn't as it was written, confirmation_already_claimed, confirmation_expired, in this order.
func (s *PendingStore) Check(a PendingAction, token string) (CheckedAction, error) {
	r := a.record
	if !r.opensWith(token) {
		return CheckedAction{}, fault.New(fault.CodeConfirmationTokenInvalid, "the token doesn't belong to the pending action %s", r.ID)
	}
	if err := r.verify(token, a.text); err != nil {
		return CheckedAction{}, err
	}
	if err := s.unclaimed(r.ID); err != nil {
		return CheckedAction{}, err
	}
	if err := s.unexpired(r); err != nil {
		return CheckedAction{}, err
	}
	return CheckedAction{a}, nil
}

// ClaimedAction is an action that this caller, and no other ever, may run.
type ClaimedAction struct{ id string }

// Claim takes the action: on disk before it returns, given to one caller at most, whatever dies when. Everyone else
// gets confirmation_already_claimed, for ever.
func (s *PendingStore) Claim(c CheckedAction) (ClaimedAction, error) {
	r := c.action.record
	f, err := os.OpenFile(s.file(r.ID, ".claim"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return ClaimedAction{}, s.unclaimed(r.ID)
	} else if err != nil {
		return ClaimedAction{}, fmt.Errorf("claim: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close(), atomicfile.SyncDir(s.dir)); err != nil {
		// Whether the claim would outlive a power cut isn't known, so nothing may run on it.
		return ClaimedAction{}, fmt.Errorf("claim: %w", err)
	}
	// Pruning removes an action's file before its claim. So a claim made after an older one was pruned finds no file.
	text, err := os.ReadFile(r.Path)
	if err != nil || string(text) != string(c.action.text) {
		return ClaimedAction{}, fault.New(fault.CodeConfirmationExpired, "the pending action %s was pruned while it was being confirmed; nothing ran", r.ID)
	}
	if err := s.unexpired(r); err != nil {
		return ClaimedAction{}, err
	}
	return ClaimedAction{r.ID}, nil
}

// Finish records how a claimed action ended: the digest of what it gave, or of its error.
func (s *PendingStore) Finish(c ClaimedAction, outcome digest.SHA256) error {
	text, err := ending{outcomeSchema, c.id, s.clock().UTC().Truncate(time.Millisecond), outcome}.encode()
	if err != nil {
		return fmt.Errorf("finish: %w", err)
	}
	return atomicfile.WriteBytes(s.file(c.id, ".done"), 0o600, text)
}

// unclaimed reports confirmation_already_claimed, with the time and whether the action is known to have ended.
func (s *PendingStore) unclaimed(id string) error {
	info, err := os.Lstat(s.file(id, ".claim"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	end := "it hasn't recorded an end: it is running, or was cut off, and is never run again"
	if e, err := s.ending(id); err == nil {
		end = "it ended at " + e.FinishedAt.Format(time.RFC3339)
	}
	return fault.New(fault.CodeConfirmationAlreadyClaimed, "the action %s was confirmed at %s; %s", id, info.ModTime().UTC().Format(time.RFC3339), end)
}

func (s *PendingStore) unexpired(r record) error {
	if now := s.clock(); !now.Before(r.ExpiresAt) {
		return fault.New(fault.CodeConfirmationExpired, "the pending action %s expired at %s", r.ID, r.ExpiresAt.Format(time.RFC3339))
	}
	return nil
}

func (s *PendingStore) ending(id string) (ending, error) {
	var e ending
	text, err := os.ReadFile(s.file(id, ".done"))
	if err != nil {
		return e, err
	}
	return e, e.read(text)
}

func (s *PendingStore) file(id, suffix string) string { return filepath.Join(s.dir, id+suffix) }
