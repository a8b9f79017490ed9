package serve

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gofrs/flock"

	"edge/internal/fault"
	"edge/internal/sealed"
)

// A turn that has come to one who is just leaving goes to the next.
func TestTurnIsHandedOn(t *testing.T) {
	var q Queue
	if err := q.acquire(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	leaving := &ticket{turn: make(chan struct{}), moved: make(chan struct{}, 1)}
	q.waiting = append(q.waiting, leaving)
	q.release()
	<-leaving.turn
	q.leave(leaving)
	if waiting, busy := q.Length(); waiting != 0 || busy {
		t.Errorf("%d wait, busy %t", waiting, busy)
	}
}

// States are the same when they are the same buffers, not when they only look alike.
func TestSameState(t *testing.T) {
	bytes := []byte("state")
	state := sealed.Fresh(bytes, 3)
	for name, tt := range map[string]struct {
		other sealed.State
		want  bool
	}{
		"itself":          {sealed.Fresh(bytes, 3), true},
		"another's bytes": {sealed.Fresh([]byte("state"), 3), false},
		"other tokens":    {sealed.Fresh(bytes, 4), false},
		"a beginning":     {sealed.Fresh(bytes[:4], 3), false},
		"more layers":     {state.Then(state), false},
		"nothing":         {sealed.State{}, false},
	} {
		if got := same(state, tt.other); got != tt.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

// Of two servers that start at once, the one without the lock gives way before it touches the socket.
func TestTheLockComesFirst(t *testing.T) {
	at := Places{Socket: filepath.Join(t.TempDir(), "s")}
	if len(at.Socket) > maxSocketPath {
		t.Fatalf("the folder for temporary files is too deep for a socket: %s", at.Socket)
	}
	if err := os.Chmod(filepath.Dir(at.Socket), 0o700); err != nil {
		t.Fatal(err)
	}
	lock := flock.New(at.Socket + ".lock")
	if held, err := lock.TryLock(); err != nil || !held {
		t.Fatal(held, err)
	}
	doors, err := Listen(at)
	if err == nil {
		doors.Close()
	}
	if !fault.Is(err, fault.CodeServerAlreadyRunning) {
		t.Errorf("got %v", err)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
}
