package fetch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edge/internal/digest"
	"edge/internal/fault"
	"edge/models/fetch"
)

// content is what every server here should serve: larger than the copy buffer, and not compressible.
func content() []byte {
	b := make([]byte, 700_001)
	rng := rand.NewChaCha8([32]byte{1})
	if _, err := rng.Read(b); err != nil {
		panic(err)
	}
	return b
}

// server serves whatever serve does, and remembers the ranges that were asked for.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	ranges []string
}

func serve(t *testing.T, handler func(n int, w http.ResponseWriter, r *http.Request)) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		n := len(s.ranges)
		s.ranges = append(s.ranges, r.Header.Get("Range"))
		s.mu.Unlock()
		handler(n, w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.ranges...)
}

// good serves b the way a good server does.
func good(w http.ResponseWriter, r *http.Request, b []byte, etag string) {
	w.Header().Set("ETag", etag)
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
}

// drop sends n bytes from the requested start of b under a whole file's head, and cuts the connection.
func drop(w http.ResponseWriter, r *http.Request, b []byte, etag string, n int) {
	start := 0
	if spec := r.Header.Get("Range"); spec != "" {
		start, _ = strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(spec, "bytes="), "-"))
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", start, len(b)-1, len(b)))
	}
	w.Header().Set("ETag", etag)
	w.Header().Set("Content-Length", strconv.Itoa(len(b)-start))
	if start > 0 {
		w.WriteHeader(http.StatusPartialContent)
	}
	w.Write(b[start : start+n])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

func client(cfg fetch.Config) *fetch.Client {
	if cfg.Sleep == nil {
		cfg.Sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	}
	return fetch.New(cfg)
}

func request(t *testing.T, url string, want []byte) fetch.Request {
	t.Helper()
	return fetch.Request{URL: url, Path: filepath.Join(t.TempDir(), "model.gguf"), Size: int64(len(want)), SHA256: digest.SHA256Of(want)}
}

// accepted asserts that the target is b and that nothing else is left.
func accepted(t *testing.T, req fetch.Request, b []byte) {
	t.Helper()
	got, err := os.ReadFile(req.Path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, b) {
		t.Errorf("the file has %d bytes that aren't the ones to be fetched", len(got))
	}
	if left := leftovers(t, req); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// refused asserts that there is no target.
func refused(t *testing.T, req fetch.Request) {
	t.Helper()
	if _, err := os.Lstat(req.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a file at the target: %v", err)
	}
}

func leftovers(t *testing.T, req fetch.Request) (left []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(req.Path))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if name := entry.Name(); name != filepath.Base(req.Path) && name != ".model.gguf.lock" {
			left = append(left, name)
		}
	}
	return left
}

// progress records what it is told.
type progress struct {
	starts      []int64
	last, total int64
	done        int
}

func (p *progress) Start(total int64) { p.starts, p.last, p.total = append(p.starts, total), 0, total }
func (p *progress) Add(n int64)       { p.last += n }
func (p *progress) Done()             { p.done++ }

func TestFetch(t *testing.T) {
	want := content()
	s := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) { good(w, r, want, `"v1"`) })
	req := request(t, s.URL, want)
	var p progress
	res, err := client(fetch.Config{}).Fetch(t.Context(), req, &p)
	if err != nil {
		t.Fatal(err)
	}
	accepted(t, req, want)
	if diff := cmp.Diff(fetch.Result{Size: req.Size, SHA256: req.SHA256}, res); diff != "" {
		t.Errorf("result: %s", diff)
	}
	if p.last != req.Size || p.total != req.Size || p.done != 1 {
		t.Errorf("progress: %+v", p)
	}
	if info, _ := os.Stat(req.Path); info.Mode().Perm() != 0o644 {
		t.Errorf("mode %o", info.Mode())
	}

	res, err = client(fetch.Config{}).Fetch(t.Context(), req, nil)
	if err != nil || !res.Present || len(s.asked()) != 1 {
		t.Errorf("the second run: %+v, %v, requests %q", res, err, s.asked())
	}
}

// Whatever the server does wrong once or twice, the file arrives; ranges says how little was asked for again.
func TestFetchRecovers(t *testing.T) {
	want := content()
	size := len(want)
	for _, tt := range []struct {
		name    string
		handler func(n int, w http.ResponseWriter, r *http.Request)
		ranges  []string
	}{
		{"connection dropped twice", func(n int, w http.ResponseWriter, r *http.Request) {
			if n < 2 {
				drop(w, r, want, `"v1"`, 300_000)
			}
			good(w, r, want, `"v1"`)
		}, []string{"", "bytes=300000-", "bytes=600000-"}},
		{"ends early without having said how long it is", func(n int, w http.ResponseWriter, r *http.Request) {
			if n > 0 {
				good(w, r, want, `"v1"`)
				return
			}
			w.Header().Set("ETag", `"v1"`)
			w.Write(want[:300_000])
			w.(http.Flusher).Flush()
		}, []string{"", "bytes=300000-"}},
		{"ignores ranges", func(n int, w http.ResponseWriter, r *http.Request) {
			r.Header.Del("Range")
			if n == 0 {
				drop(w, r, want, `"v1"`, 300_000)
			}
			good(w, r, want, `"v1"`)
		}, []string{"", "bytes=300000-"}},
		{"file changed in between", func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 0 {
				drop(w, r, make([]byte, size), `"v0"`, 300_000)
			}
			good(w, r, want, `"v1"`) // If-Range makes this the whole file
		}, []string{"", "bytes=300000-"}},
		{"says 416 to a part that it can't continue", func(n int, w http.ResponseWriter, r *http.Request) {
			switch n {
			case 0:
				drop(w, r, want, `"v1"`, 300_000)
			case 1:
				w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			default:
				good(w, r, want, `"v1"`)
			}
		}, []string{"", "bytes=300000-", ""}},
		{"sends another range than was asked for", func(n int, w http.ResponseWriter, r *http.Request) {
			switch n {
			case 0:
				drop(w, r, want, `"v1"`, 300_000)
			case 1:
				r.Header.Set("Range", "bytes=1-")
				good(w, r, want, `"v1"`)
			default:
				good(w, r, want, `"v1"`)
			}
		}, []string{"", "bytes=300000-", ""}},
		{"500, 503 and 429 first", func(n int, w http.ResponseWriter, r *http.Request) {
			if n < 3 {
				w.WriteHeader([]int{500, 503, 429}[n])
				return
			}
			good(w, r, want, `"v1"`)
		}, []string{"", "", "", ""}},
		{"no validator", func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 0 {
				drop(w, r, want, "", 300_000)
			}
			good(w, r, want, "")
		}, []string{"", "bytes=300000-"}},
		{"a weak validator", func(n int, w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("If-Range") != "" {
				t.Error("a weak validator can't tell whether bytes go together")
			}
			if n == 0 {
				drop(w, r, want, `W/"v1"`, 300_000)
			}
			good(w, r, want, `W/"v1"`)
		}, []string{"", "bytes=300000-"}},
		{"redirects", func(n int, w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				http.Redirect(w, r, "/elsewhere", http.StatusFound)
				return
			}
			good(w, r, want, `"v1"`)
		}, []string{"", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, tt.handler)
			req := request(t, s.URL, want)
			if _, err := client(fetch.Config{}).Fetch(t.Context(), req, nil); err != nil {
				t.Fatal(err)
			}
			accepted(t, req, want)
			if diff := cmp.Diff(tt.ranges, s.asked()); diff != "" {
				t.Errorf("ranges: %s", diff)
			}
		})
	}
}

func TestFetchRefuses(t *testing.T) {
	want := content()
	other := content()
	other[len(other)/2] ^= 1
	status := func(code int) func(int, http.ResponseWriter, *http.Request) {
		return func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	for _, tt := range []struct {
		name     string
		handler  func(n int, w http.ResponseWriter, r *http.Request)
		code     fault.Code
		says     string
		requests int
	}{
		{"a short file", func(_ int, w http.ResponseWriter, r *http.Request) { good(w, r, want[:1000], `"v1"`) },
			fault.CodeDownloadDigestMismatch, "got 1000 bytes, want 700001", 1},
		{"a longer file", func(_ int, w http.ResponseWriter, r *http.Request) { good(w, r, append(content(), 0), `"v1"`) },
			fault.CodeDownloadDigestMismatch, "got 700002 bytes, want 700001", 1},
		{"a longer file without a length", func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Write(want)
			w.(http.Flusher).Flush()
			w.Write([]byte{0})
		}, fault.CodeDownloadDigestMismatch, "more than the 700001 bytes", 1},
		{"an endless file", func(_ int, w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write(want); err != nil {
					return
				}
			}
		}, fault.CodeDownloadDigestMismatch, "more than the 700001 bytes", 1},
		{"another file of the same size", func(_ int, w http.ResponseWriter, r *http.Request) { good(w, r, other, `"v1"`) },
			fault.CodeDownloadDigestMismatch, "is another file: got sha256", 1},
		{"a web page", func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, "<html>Please log in</html>")
		}, fault.CodeDownloadFailed, "a web page instead of the file", 1},
		{"404", status(404), fault.CodeDownloadFailed, "404 Not Found", 1},
		{"403", status(403), fault.CodeDownloadFailed, "403 Forbidden", 1},
		{"416 to a first request", status(416), fault.CodeDownloadFailed, "416", 1},
		{"500 for ever", status(500), fault.CodeDownloadFailed, "500 Internal Server Error", 5},
		{"always ends in the first half", func(_ int, w http.ResponseWriter, r *http.Request) {
			r.Header.Del("Range")
			drop(w, r, want, `"v1"`, 300_000)
		}, fault.CodeDownloadFailed, "unexpected EOF", 5},
		{"a loop of redirects", func(_ int, w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusFound) },
			fault.CodeDownloadFailed, "redirects", 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, tt.handler)
			req := request(t, s.URL, want)
			_, err := client(fetch.Config{}).Fetch(t.Context(), req, nil)
			if !fault.Is(err, tt.code) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %s with %q", err, tt.code, tt.says)
			}
			refused(t, req)
			if left := leftovers(t, req); tt.code == fault.CodeDownloadDigestMismatch && len(left) != 0 {
				t.Errorf("left behind: %q", left)
			}
			if got := len(s.asked()); got != tt.requests {
				t.Errorf("%d requests, want %d", got, tt.requests)
			}
		})
	}
}

func TestFetchUnreachable(t *testing.T) {
	s := serve(t, func(int, http.ResponseWriter, *http.Request) {})
	s.Close()
	req := request(t, s.URL, content())
	if _, err := client(fetch.Config{}).Fetch(t.Context(), req, nil); !fault.Is(err, fault.CodeDownloadFailed) {
		t.Errorf("got %v", err)
	}
	refused(t, req)
	req.URL = "file:///etc/passwd"
	if _, err := client(fetch.Config{}).Fetch(t.Context(), req, nil); !fault.Is(err, fault.CodeDownloadFailed) {
		t.Errorf("a file address: %v", err)
	}
}
