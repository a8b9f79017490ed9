package imprint

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// lockPoll is how often a waiting process asks again: short beside what a holder does, long beside the call itself.
const lockPoll = 5 * time.Millisecond

// lock waits for the store's only lock. The operating system releases it when its holder ends, however it ends, so no
// lock is ever stale. The lock file itself stays: removing it would let two processes lock two files.
func (s *Store) lock(ctx context.Context) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(s.dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("imprint store: %w", err)
	}
	for {
		held, err := tryLock(f)
		if held {
			return func() { f.Close() }, nil
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("imprint store: lock %s: %w", f.Name(), err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(lockPoll):
		}
	}
}
