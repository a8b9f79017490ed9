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
	"sync/atomic"
	"syscall"
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

// A run that was cancelled leaves a part, and the next one asks only for the rest.
func TestFetchCancelAndResume(t *testing.T) {
	want := content()
	arrived := make(chan struct{})
	s := serve(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n > 0 {
			good(w, r, want, `"v1"`)
			return
		}
		w.Header().Set("ETag", `"v1"`)
		w.Header().Set("Content-Length", strconv.Itoa(len(want)))
		w.Write(want[:300_000])
		w.(http.Flusher).Flush()
		close(arrived)
		<-r.Context().Done()
	})
	req := request(t, s.URL, want)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		for {
			if info, err := os.Stat(req.Path + ".part"); err == nil && info.Size() == 300_000 {
				cancel()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	_, err := client(fetch.Config{}).Fetch(ctx, req, nil)
	if !errors.Is(err, context.Canceled) || fault.From(err).Code != fault.CodeCancelled {
		t.Fatalf("got %v", err)
	}
	refused(t, req)

	var p progress
	if _, err := client(fetch.Config{}).Fetch(t.Context(), req, &p); err != nil {
		t.Fatal(err)
	}
	accepted(t, req, want)
	if diff := cmp.Diff([]string{"", "bytes=300000-"}, s.asked()); diff != "" {
		t.Errorf("ranges: %s", diff)
	}
	if p.last != int64(len(want)) {
		t.Errorf("progress counted %d of %d bytes", p.last, len(want))
	}
}

// What an earlier run left is only a hint: it is continued where it can be, and never believed.
func TestFetchLeftParts(t *testing.T) {
	want := content()
	note := func(url, etag string) string {
		return fmt.Sprintf(`{"schema":"edge.partial_download/v1","url":%q,"etag":%q}`, url, etag)
	}
	for _, tt := range []struct {
		name   string
		part   []byte
		note   func(url string) string
		ranges []string
	}{
		{"good", want[:1000], func(url string) string { return note(url, `"v1"`) }, []string{"bytes=1000-"}},
		{"whole", want, func(url string) string { return note(url, `"v1"`) }, nil},
		{"too long", append(content(), 1), func(url string) string { return note(url, `"v1"`) }, []string{""}},
		{"of an older version", make([]byte, 1000), func(url string) string { return note(url, `"v0"`) }, []string{"bytes=1000-"}},
		{"other bytes under the right validator", make([]byte, 1000), func(url string) string { return note(url, `"v1"`) }, []string{"bytes=1000-", ""}},
		{"whole, but other bytes", make([]byte, len(want)), func(url string) string { return note(url, `"v1"`) }, []string{""}},
		{"of another address", want[:1000], func(string) string { return note("http://localhost/other", `"v1"`) }, []string{""}},
		{"torn note", want[:1000], func(string) string { return `{"schema":` }, []string{""}},
		{"no note", want[:1000], nil, []string{""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) { good(w, r, want, `"v1"`) })
			req := request(t, s.URL, want)
			if err := os.WriteFile(req.Path+".part", tt.part, 0o600); err != nil {
				t.Fatal(err)
			}
			if tt.note != nil {
				if err := os.WriteFile(req.Path+".part.json", []byte(tt.note(s.URL)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
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

// Without a pinned digest the validator is all that ties two halves together.
func TestFetchUnpinned(t *testing.T) {
	want := content()
	s := serve(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n == 0 {
			drop(w, r, want, "", 300_000)
		}
		good(w, r, want, "")
	})
	req := request(t, s.URL, want)
	req.Size, req.SHA256 = 0, digest.SHA256{}
	if _, err := client(fetch.Config{Attempts: 1}).Fetch(t.Context(), req, nil); !fault.Is(err, fault.CodeDownloadFailed) {
		t.Fatalf("got %v", err)
	}
	res, err := client(fetch.Config{}).Fetch(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	accepted(t, req, want)
	if diff := cmp.Diff(fetch.Result{Size: int64(len(want)), SHA256: digest.SHA256Of(want)}, res); diff != "" {
		t.Errorf("result: %s", diff)
	}
	if diff := cmp.Diff([]string{"", ""}, s.asked()); diff != "" {
		t.Errorf("ranges: %s", diff)
	}

	open := serve(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Write(want[:10])
		w.(http.Flusher).Flush()
	})
	req = fetch.Request{URL: open.URL, Path: filepath.Join(t.TempDir(), "model.gguf")}
	if _, err := client(fetch.Config{}).Fetch(t.Context(), req, nil); !fault.Is(err, fault.CodeDownloadFailed) {
		t.Errorf("neither size nor digest: %v", err)
	}
	refused(t, req)
}

func TestFetchStalledServer(t *testing.T) {
	want := content()
	s := serve(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n > 0 {
			good(w, r, want, `"v1"`)
			return
		}
		w.Header().Set("ETag", `"v1"`)
		w.Header().Set("Content-Length", strconv.Itoa(len(want)))
		w.Write(want[:300_000])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	req := request(t, s.URL, want)
	if _, err := client(fetch.Config{Stall: 200 * time.Millisecond}).Fetch(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	accepted(t, req, want)
	if len(s.asked()) != 2 {
		t.Errorf("ranges: %q", s.asked())
	}
}

func TestFetchWaitsAsTold(t *testing.T) {
	want := content()
	s := serve(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n < 3 {
			if n == 1 {
				w.Header().Set("Retry-After", "7")
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		good(w, r, want, `"v1"`)
	})
	var waits []time.Duration
	c := client(fetch.Config{Sleep: func(_ context.Context, d time.Duration) error {
		waits = append(waits, d)
		return nil
	}})
	if _, err := c.Fetch(t.Context(), request(t, s.URL, want), nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]time.Duration{500 * time.Millisecond, 7 * time.Second, 2 * time.Second}, waits); diff != "" {
		t.Errorf("waits: %s", diff)
	}
}

func TestFetchNoSpace(t *testing.T) {
	want := content()
	s := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) { good(w, r, want, `"v1"`) })

	t.Run("known before", func(t *testing.T) {
		req := request(t, s.URL, want)
		c := client(fetch.Config{Free: func(dir string) (int64, error) {
			if dir != filepath.Dir(req.Path) {
				t.Errorf("asked about %s", dir)
			}
			return int64(len(want)), nil
		}})
		if _, err := c.Fetch(t.Context(), req, nil); !fault.Is(err, fault.CodeNoSpace) {
			t.Errorf("got %v", err)
		}
		refused(t, req)
	})
	t.Run("met while writing", func(t *testing.T) {
		req := request(t, s.URL, want)
		c := client(fetch.Config{})
		c.WrapWriter(func(w io.Writer) io.Writer { return &fullDisk{w: w, room: 100_000} })
		if _, err := c.Fetch(t.Context(), req, nil); !fault.Is(err, fault.CodeNoSpace) {
			t.Fatalf("got %v", err)
		}
		refused(t, req)
		if _, err := client(fetch.Config{}).Fetch(t.Context(), req, nil); err != nil {
			t.Fatalf("with space again: %v", err)
		}
		accepted(t, req, want)
		if asked := s.asked(); asked[len(asked)-1] != "bytes=100000-" {
			t.Errorf("what had arrived was fetched again: %q", asked)
		}
	})
}

// fullDisk takes room bytes and then answers as the operating system does.
type fullDisk struct {
	w    io.Writer
	room int
}

func (d *fullDisk) Write(b []byte) (int, error) {
	n, err := d.w.Write(b[:min(len(b), d.room)])
	if d.room -= n; err == nil && n < len(b) {
		err = &fs.PathError{Op: "write", Path: "part", Err: syscall.ENOSPC}
	}
	return n, err
}

func TestFetchReadOnlyFolder(t *testing.T) {
	req := request(t, "http://localhost/", content())
	req.Path = filepath.Join(t.TempDir(), "missing", "model.gguf")
	if _, err := client(fetch.Config{}).Fetch(t.Context(), req, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestFetchKeepsWhatIsThere(t *testing.T) {
	want := content()
	s := serve(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) })
	req := request(t, s.URL, want)
	if err := os.WriteFile(req.Path, []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := client(fetch.Config{}).Fetch(t.Context(), req, nil); !fault.Is(err, fault.CodeDownloadFailed) {
		t.Errorf("got %v", err)
	}
	if got, _ := os.ReadFile(req.Path); string(got) != "something else" {
		t.Error("a failed download changed the file that was there")
	}
}

// Many at once: one downloads, the others wait for it and find the file.
func TestFetchTwice(t *testing.T) {
	want := content()
	s := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) { good(w, r, want, `"v1"`) })
	req := request(t, s.URL, want)
	var present atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			res, err := client(fetch.Config{}).Fetch(t.Context(), req, nil)
			if err != nil {
				t.Error(err)
			}
			if res.Present {
				present.Add(1)
			}
		})
	}
	wg.Wait()
	accepted(t, req, want)
	if present.Load() != 7 || len(s.asked()) != 1 {
		t.Errorf("%d found it there, requests %q", present.Load(), s.asked())
	}
}

func TestFetchHeader(t *testing.T) {
	want := content()
	var seen atomic.Value
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.Header.Get("Authorization"))
		good(w, r, want, `"v1"`)
	}))
	defer elsewhere.Close()
	s := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			t.Error("the header didn't arrive")
		}
		http.Redirect(w, r, strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1), http.StatusFound)
	})
	req := request(t, s.URL, want)
	req.Header = http.Header{"Authorization": {"Bearer secret"}}
	if _, err := client(fetch.Config{}).Fetch(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	if seen.Load() != "" {
		t.Errorf("another host was told %q", seen.Load())
	}
}

func TestFetchRefusesDowngrade(t *testing.T) {
	plain := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) { good(w, r, content(), `"v1"`) })
	tls := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusFound))
	defer tls.Close()
	req := request(t, tls.URL, content())
	_, err := client(fetch.Config{HTTP: tls.Client()}).Fetch(t.Context(), req, nil)
	if !fault.Is(err, fault.CodeDownloadFailed) || !strings.Contains(err.Error(), "isn't https") || len(plain.asked()) != 0 {
		t.Errorf("got %v", err)
	}
	refused(t, req)
}

func TestGet(t *testing.T) {
	s := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/ok" {
			w.WriteHeader(404)
			return
		}
		io.WriteString(w, "12345")
	})
	if got, err := client(fetch.Config{}).Get(t.Context(), s.URL+"/ok", nil, 5); err != nil || string(got) != "12345" {
		t.Errorf("got %q, %v", got, err)
	}
	for name, limit := range map[string]int64{"/ok": 4, "/no": 5} {
		if _, err := client(fetch.Config{}).Get(t.Context(), s.URL+name, nil, limit); !fault.Is(err, fault.CodeDownloadFailed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
