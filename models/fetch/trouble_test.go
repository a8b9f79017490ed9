package fetch_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
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

	"edge/internal/fault"
	"edge/models/fetch"
)

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
	if _, err := client(fetch.Config{Stall: 500 * time.Millisecond}).Fetch(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	accepted(t, req, want)
	if asked := s.asked(); len(asked) < 2 || asked[1] != "bytes=300000-" {
		t.Errorf("ranges: %q", asked)
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
