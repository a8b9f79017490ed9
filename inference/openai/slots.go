package openai

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"edge/inference/served"
	"edge/internal/digest"
	"edge/internal/fault"
)

// slotID is the slot that edge restores into.
const slotID = 0

// slotSlack is how many tokens of a kept state may be read again: the stand-in for a request that it was made with, and
// what its neighbours join it to.
const slotSlack = 16

// Keep implements served.Keeper: the server reads the messages and saves its slot, and the file's digest is taken. It
// gives nil where the server doesn't save, or where the file doesn't lie in the folder that the user named.
func (m *model) Keep(ctx context.Context, messages []served.Message) (*served.Slot, error) {
	standIn := append(messages[:len(messages):len(messages)], served.Message{Role: "user", Content: "-"})
	body := map[string]any{
		"model": m.entry.ID, "messages": standIn, "max_tokens": 1, "temperature": 0, "cache_prompt": true, "id_slot": slotID,
		"chat_template_kwargs": map[string]any{"enable_thinking": false},
	}
	var ignored any
	if err := m.post(ctx, "/v1/chat/completions", body, &ignored); err != nil {
		return nil, err
	}
	text := fmt.Sprintf("%s\n%q", m.sum, messages)
	slot := &served.Slot{File: fmt.Sprintf("edge-%x.slot", sha256.Sum256([]byte(text)))}
	var saved struct {
		Saved int `json:"n_saved"`
	}
	if err := m.post(ctx, fmt.Sprintf("/slots/%d?action=save", slotID), map[string]any{"filename": slot.File}, &saved); err != nil {
		if fault.Is(err, fault.CodeModelServerError) { // started without --slot-save-path
			return nil, nil
		}
		return nil, err
	}
	slot.Tokens = saved.Saved
	sum, size, err := digestFile(filepath.Join(m.cfg.SlotDir, slot.File))
	if err != nil || saved.Saved == 0 {
		return nil, nil
	}
	slot.SHA256, slot.Bytes = sum, size
	return slot, nil
}

// restore has the server restore a slot whose file is still what was kept; otherwise the prefix is read as text.
func (m *model) restore(ctx context.Context, slot *served.Slot) bool {
	if slot == nil || m.cfg.SlotDir == "" || filepath.Base(slot.File) != slot.File {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.slot != nil && *m.slot == *slot {
		return true // the conversation goes on in it
	}
	if sum, size, err := digestFile(filepath.Join(m.cfg.SlotDir, slot.File)); err != nil || sum != slot.SHA256 || size != slot.Bytes {
		return false
	}
	var ignored any
	if err := m.post(ctx, fmt.Sprintf("/slots/%d?action=restore", slotID), map[string]any{"filename": slot.File}, &ignored); err != nil {
		return false
	}
	m.slot = slot
	return true
}

func digestFile(path string) (sum digest.SHA256, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return sum, 0, err
	}
	defer f.Close()
	h := sha256.New()
	if size, err = io.Copy(h, f); err != nil {
		return sum, 0, err
	}
	copy(sum[:], h.Sum(nil))
	return sum, size, nil
}
