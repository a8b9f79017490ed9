package computer

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"edge/hosted"
	"edge/internal/atomicfile"
	"edge/internal/canon"
	"edge/internal/digest"
)

// keptFor is how long a submission that nobody asked for stays; a pending action lives 10 minutes.
const keptFor = time.Hour

// folder is where the tool keeps its files, each readable by the user only.
func folder(env hosted.Environment) string { return filepath.Join(env.Home.Hosted(), "computer") }

// store keeps refused submissions between the call that met them and the confirmed one, named by what a person reads.
// They hold cookies, so they are private and short-lived.
type store struct{ dir string }

func (s store) path(r request) (string, error) {
	text, err := canon.Marshal(r)
	if err != nil {
		return "", err
	}
	return filepath.Join(s.dir, digest.SHA256Of(text).String()+".json"), nil
}

func (s store) put(sub submission) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	s.prune()
	path, err := s.path(sub.request)
	if err != nil {
		return err
	}
	text, err := json.Marshal(sub)
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(path, 0o600, text)
}

// take gives a submission and forgets it; ok is false where no page wanted to send that.
func (s store) take(r request) (sub submission, ok bool, err error) {
	path, err := s.path(r)
	if err != nil {
		return sub, false, err
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return sub, false, nil
	}
	if err != nil {
		return sub, false, err
	}
	if err := os.Remove(path); err != nil {
		return sub, false, err
	}
	if err := json.Unmarshal(text, &sub); err != nil {
		return sub, false, err
	}
	return sub, sub.request == r, nil
}

// prune forgets what is old; a file that can't be removed now is tried again with the next.
func (s store) prune() {
	entries, _ := os.ReadDir(s.dir)
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > keptFor {
			os.Remove(filepath.Join(s.dir, entry.Name()))
		}
	}
}
