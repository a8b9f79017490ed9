package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edge/internal/digest"
	"edge/internal/fault"
	"edge/models/fetch"
)

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
	sum := digest.SHA256Of(want)
	note := func(url, etag string) string {
		return fmt.Sprintf(`{"schema":"edge.partial_download/v1","url":%q,"etag":%q,"sha256":%q}`, url, etag, sum)
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
		{"of another address", want[:1000], func(string) string { return note("http://localhost/other", `"v1"`) }, []string{"bytes=1000-"}},
		{"of another file", want[:1000], func(url string) string {
			return strings.Replace(note(url, `"v1"`), sum.String(), strings.Repeat("ab", 32), 1)
		}, []string{""}},
		{"of another format", want[:1000], func(url string) string { return strings.Replace(note(url, `"v1"`), "/v1", "/v2", 1) }, []string{""}},
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

	// A part of another address, and one without a validator, can't be continued either.
	for _, left := range []string{
		fmt.Sprintf(`{"schema":"edge.partial_download/v1","url":%q,"etag":%q,"sha256":%q}`, "http://localhost/other", `"v1"`, digest.SHA256{}),
		fmt.Sprintf(`{"schema":"edge.partial_download/v1","url":%q,"etag":"","sha256":%q}`, s.URL, digest.SHA256{}),
	} {
		req := fetch.Request{URL: s.URL, Path: filepath.Join(t.TempDir(), "model.gguf")}
		if err := errors.Join(os.WriteFile(req.Path+".part", want[:1000], 0o600), os.WriteFile(req.Path+".part.json", []byte(left), 0o600)); err != nil {
			t.Fatal(err)
		}
		if _, err := client(fetch.Config{}).Fetch(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		accepted(t, req, want)
		if asked := s.asked(); asked[len(asked)-1] != "" {
			t.Errorf("continued %s with %q", left, asked[len(asked)-1])
		}
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
