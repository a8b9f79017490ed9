package oci_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"edge/imprint/oci"
	"edge/internal/dsse"
	"edge/internal/fault"
)

func isUpload(r *http.Request) bool {
	return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/blobs/uploads/")
}

func isTag(r *http.Request) bool {
	return r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/manifests/v1")
}

// breakUpload takes a little of what is sent and breaks the connection.
func breakUpload(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	io.CopyN(io.Discard, r.Body, 1000)
	panic(http.ErrAbortHandler)
}

func TestUploadsThatFail(t *testing.T) {
	m := makeImprint(t, 1)
	private, _ := newKey(t)
	always := func(match func(*http.Request) bool) func(*http.Request) bool { return match }
	once := func(match func(*http.Request) bool) func(*http.Request) bool { return first(1, match) }
	for _, test := range []struct {
		name    string
		between middleware
		want    fault.Code
	}{
		{"the server stumbles over the file", when(once(isUpload), status(500)), ""},
		{"always", when(always(isUpload), status(500)), fault.CodeUploadFailed},
		{"the connection breaks", when(once(isUpload), breakUpload), ""},
		{"it always does", when(always(isUpload), breakUpload), fault.CodeUploadFailed},
		{"the file isn't taken", when(always(isUpload), status(400)), fault.CodeUploadFailed},
		{"the tag isn't at once", when(once(isTag), status(500)), ""},
		{"the tag isn't at all", when(always(isTag), status(403)), fault.CodeUploadFailed},
		{"the upload leads elsewhere", when(func(r *http.Request) bool { return r.Method == http.MethodPost }, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Location", "https://registry.invalid/v2/x/blobs/uploads/1")
			w.WriteHeader(http.StatusAccepted)
		}), fault.CodeUploadFailed},
	} {
		t.Run(test.name, func(t *testing.T) {
			host := newRegistry(t, test.between)
			_, err := quick().Push(t.Context(), m.open(t), target(t, host+"/x:v1"), oci.PushOptions{Sign: &private})
			s := newStore(t)
			if test.want != "" {
				if !fault.Is(err, test.want) {
					t.Errorf("got %v, want %s", err, test.want)
				}
				// Whoever follows the tag finds everything or no tag.
				_, err = pull(t, s, host+"/x:v1", unsigned())
				wantRefused(t, s, err, fault.CodeImprintNotFound)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := pull(t, s, host+"/x:v1", unsigned())
			wantHere(t, s, m, got, err)
		})
	}
}

func TestWhatIsThereIsNotSentAgain(t *testing.T) {
	m := makeImprint(t, 1)
	var uploads atomic.Int64
	host := newRegistry(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if isUpload(r) {
				uploads.Add(1)
			}
			next.ServeHTTP(w, r)
		})
	})
	push(t, m, host+"/x:v1", oci.PushOptions{})
	push(t, m, host+"/x:v2", oci.PushOptions{})
	if n := uploads.Load(); n != 2 { // header and file
		t.Errorf("%d uploads, want 2", n)
	}
}

func TestAnInterruptedPush(t *testing.T) {
	m := makeImprint(t, 1)
	ctx, cancel := cancelable(t)
	host := newRegistry(t, when(isUpload, func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		cancel()
		io.Copy(io.Discard, r.Body) // ends with the connection
	}))
	_, err := quick().Push(ctx, m.open(t), target(t, host+"/x:v1"), oci.PushOptions{})
	if fault.From(err).Code != fault.CodeCancelled {
		t.Errorf("to a registry: %v", err)
	}
	dir := filepath.Join(t.TempDir(), "layout")
	if _, err := quick().Push(ctx, m.open(t), target(t, "oci:"+dir+":v1"), oci.PushOptions{}); fault.From(err).Code != fault.CodeCancelled {
		t.Errorf("to a folder: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "blobs", "*", "*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

const (
	registryEnv = "EDGE_OCI_TEST_REGISTRY" // a folder for blobs: be a registry
	dieEnv      = "EDGE_OCI_TEST_DIE"      // and end in the middle of the first large answer
)

// TestMain makes the test's binary the registry that some tests start as a process.
func TestMain(m *testing.M) {
	if dir := os.Getenv(registryEnv); dir != "" {
		fmt.Println("failed:", beRegistry(dir, os.Getenv(dieEnv) != ""))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func beRegistry(dir string, dies bool) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var h http.Handler = registry.New(quietly(), registry.WithReferrersSupport(true), registry.WithBlobHandler(registry.NewDiskBlobHandler(dir)))
	if dies {
		h = when(func(r *http.Request) bool {
			return r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/")
		}, dyingWriter)(h)
	}
	fmt.Println(listener.Addr())
	return http.Serve(listener, h)
}

// dyingWriter ends the process after half a megabyte of one answer.
func dyingWriter(w http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(&limited{w, 512 << 10}, r)
}

type limited struct {
	http.ResponseWriter
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n, err := l.ResponseWriter.Write(p[:min(len(p), l.left)])
	if l.left -= n; l.left == 0 {
		l.ResponseWriter.(http.Flusher).Flush()
		os.Exit(0)
	}
	return n, err
}

// startRegistry starts a registry as a process of its own and gives its address.
func startRegistry(t *testing.T, dir string, dies bool) (*exec.Cmd, string) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), registryEnv+"="+dir)
	if dies {
		c.Env = append(c.Env, dieEnv+"=1")
	}
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Process.Kill(); err == nil || !errors.Is(err, os.ErrProcessDone) {
			c.Wait()
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || strings.HasPrefix(line, "failed") {
		t.Fatalf("%q, %v", line, err)
	}
	return c, strings.TrimSpace(line)
}

// A registry that is a process of its own dies in the middle of a pull. The one that is started in its place has its
// blobs; nothing is sent or fetched twice.
func TestARegistryThatDies(t *testing.T) {
	dir := t.TempDir()
	m := makeImprint(t, 1)
	private, public := newKey(t)
	trusted := oci.PullOptions{Trust: []dsse.PublicKey{public}}
	mortal, host := startRegistry(t, dir, true)
	pushed := push(t, m, host+"/team/x:v1", oci.PushOptions{Sign: &private})

	s := newStore(t)
	_, err := pull(t, s, host+"/team/x:v1", trusted)
	wantRefused(t, s, err, fault.CodeDownloadFailed)
	if err := mortal.Wait(); err != nil {
		t.Errorf("the registry: %v", err)
	}
	left := partials(t, s)
	kept := left[digestOf(m)+".part"]
	if len(left) != 1 || kept == 0 || kept >= int64(len(m.raw)) {
		t.Fatalf("kept: %v", left)
	}

	_, host = startRegistry(t, dir, false)
	if again := push(t, m, host+"/team/x:v1", oci.PushOptions{Sign: &private}); again.Digest != pushed.Digest {
		t.Errorf("pushed as %s, before as %s", again.Digest, pushed.Digest)
	}
	var fetched int64
	c := oci.New(oci.Config{Progress: func(string) oci.Progress { return &tally{&fetched} }})
	got, err := c.Pull(t.Context(), s, target(t, host+"/team/x:v1"), trusted)
	wantHere(t, s, m, got, err)
	if fetched != int64(len(m.raw)) {
		t.Errorf("%d bytes were told of, want %d", fetched, len(m.raw))
	}
}

func digestOf(m made) string { return sha(string(m.raw)).String() }

// tally counts what it is told of since the last start.
type tally struct{ n *int64 }

func (p *tally) Start(int64) { *p.n = 0 }
func (p *tally) Add(n int64) { *p.n += n }
func (p *tally) Done()       {}

// A registry that takes nothing any more is left after a while.
func TestAnUploadThatStalls(t *testing.T) {
	m := makeImprint(t, 1)
	end := make(chan struct{})
	host := newRegistry(t, when(isUpload, func(http.ResponseWriter, *http.Request, http.Handler) { <-end }))
	t.Cleanup(func() { close(end) })
	c := oci.New(oci.Config{Wait: time.Microsecond, Attempts: 2, Stall: 50 * time.Millisecond})
	_, err := c.Push(t.Context(), m.open(t), target(t, host+"/x:v1"), oci.PushOptions{})
	if !fault.Is(err, fault.CodeUploadFailed) || !strings.Contains(err.Error(), "nothing moved") {
		t.Errorf("got %v", err)
	}
}
