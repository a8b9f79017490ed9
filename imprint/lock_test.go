package imprint_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"edge/imprint"
	"edge/internal/fault"
)

const childEnv = "EDGE_IMPRINT_TEST_CHILD"

// TestMain makes the test's binary its own peer: a second process that uses the same store.
func TestMain(m *testing.M) {
	switch dir := os.Getenv("EDGE_IMPRINT_TEST_STORE"); os.Getenv(childEnv) {
	case "":
		os.Exit(m.Run())
	case "hold":
		s, err := imprint.NewStore(dir)
		unlock := func() {}
		if err == nil {
			unlock, err = imprint.Lock(s, context.Background())
		}
		fmt.Println("held", err)
		time.Sleep(time.Hour) // until it is killed
		unlock()              // and not before: a forgotten lock is the garbage collector's
	case "put":
		s, err := imprint.NewStore(dir)
		for n := 0; err == nil && n < 8; n++ {
			_, err = s.Put(context.Background(), variant(n))
		}
		fmt.Println("put", err)
	default:
		os.Exit(play(os.Getenv(childEnv), dir))
	}
}

// child starts this binary in a role and gives it with the read end of its output.
func child(t *testing.T, role, dir string) (*os.Process, *bufio.Reader) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	t.Cleanup(func() { r.Close() })
	p, err := os.StartProcess(os.Args[0], os.Args[:1], &os.ProcAttr{
		Env:   append(os.Environ(), childEnv+"="+role, "EDGE_IMPRINT_TEST_STORE="+dir),
		Files: []*os.File{nil, w, os.Stderr},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p, bufio.NewReader(r)
}

// watched is a context that tells when someone begins to wait on it; while it isn't done, it has no error.
type watched struct {
	context.Context
	done  chan struct{}
	asked chan struct{}
}

func (w watched) Done() <-chan struct{} {
	select {
	case w.asked <- struct{}{}:
	default:
	}
	return w.done
}

func (w watched) Err() error {
	select {
	case <-w.done:
		return context.Canceled
	default:
		return nil
	}
}

func TestTheLockDiesWithItsHolder(t *testing.T) {
	s := newStore(t)
	holder, out := child(t, "hold", s.Dir())
	if line, err := out.ReadString('\n'); err != nil || line != "held <nil>\n" {
		t.Fatalf("%q, %v", line, err)
	}
	waiting := watched{Context: context.Background(), done: make(chan struct{}), asked: make(chan struct{}, 1)}
	result := make(chan error, 1)
	go func() {
		_, err := s.Put(waiting, full())
		result <- err
	}()
	select {
	case <-waiting.asked:
	case err := <-result:
		t.Fatalf("Put didn't wait for the lock: %v", err)
	}
	close(waiting.done)
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want the wait's end", err)
	}
	if got := files(t, s); len(got) != 1 {
		t.Errorf("the folder holds %v", got)
	}
	if err := holder.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Wait(); err != nil {
		t.Fatal(err)
	}
	put(t, s, full())
}

func TestTwoProcessesPutTheSame(t *testing.T) {
	s := newStore(t)
	var peers sync.WaitGroup
	for range 2 {
		p, out := child(t, "put", s.Dir())
		peers.Go(func() {
			if line, err := out.ReadString('\n'); err != nil || line != "put <nil>\n" {
				t.Errorf("%q, %v", line, err)
			}
			if _, err := p.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	for n := range 8 {
		put(t, s, variant(n))
	}
	peers.Wait()
	list, err := s.List()
	if err != nil || len(list.Entries) != 8 || len(list.Damaged) != 0 {
		t.Fatalf("%d entries, %d damaged, %v", len(list.Entries), len(list.Damaged), err)
	}
	for n, e := range list.Entries {
		u, err := s.Open(e.ID.String())
		if err != nil {
			t.Fatal(err)
		}
		if err := u.CheckIntegrity(context.Background()); err != nil {
			t.Errorf("%d: %v", n, err)
		}
		u.Close()
	}
	if got := files(t, s); len(got) != 10 { // and the lock, and the folder of layers
		t.Errorf("the folder holds %v", got)
	}
}

func TestAReaderKeepsWhatIsRemoved(t *testing.T) {
	s := newStore(t)
	e := put(t, s, full())
	u, err := s.Open(e.ID.String())
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	if _, err := s.Remove(context.Background(), e.ID.String()); err != nil {
		t.Fatal(err)
	}
	v, err := u.Verify(context.Background(), full().Identity)
	if err != nil {
		t.Fatal(err)
	}
	var engine sink
	if _, err := v.Restore(context.Background(), &engine); err != nil || !bytes.Equal(engine.got.Bytes(), full().State.Bytes()) {
		t.Errorf("restore: %v", err)
	}
	if _, err := s.Open(e.ID.String()); !fault.Is(err, fault.CodeImprintNotFound) {
		t.Errorf("open: %v", err)
	}
}
