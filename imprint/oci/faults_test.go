package oci_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"edge/imprint/oci"
	"edge/internal/fault"
)

// when runs do in place of the registry for those requests that match.
func when(match func(*http.Request) bool, do func(w http.ResponseWriter, r *http.Request, next http.Handler)) middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if match(r) {
				do(w, r, next)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// first lets through n requests that match, and no more.
func first(n int64, match func(*http.Request) bool) func(*http.Request) bool {
	var seen atomic.Int64
	return func(r *http.Request) bool { return match(r) && seen.Add(1) <= n }
}

// cutAfter sends n bytes of what was asked for and breaks the connection.
func cutAfter(n int64) func(w http.ResponseWriter, r *http.Request, next http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		for key, values := range answer.Header() {
			w.Header()[key] = values
		}
		w.WriteHeader(answer.Code)
		io.CopyN(w, answer.Body, n)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

func status(code int) func(w http.ResponseWriter, r *http.Request, next http.Handler) {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.WriteHeader(code)
		fmt.Fprint(w, `{"errors":[{"code":"UNKNOWN","message":"sorry \u001b[2J"}]}`)
	}
}

// noRanges is a registry that sends everything, whatever was asked for.
func noRanges(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Range")
		next.ServeHTTP(w, r)
	})
}

// starts notes where each request for the file begins.
func starts(m made, list *[]string) middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if m.isFile(r) {
				*list = append(*list, r.Header.Get("Range"))
			}
			next.ServeHTTP(w, r)
		})
	}
}

func TestTroubleThatPasses(t *testing.T) {
	m := makeImprint(t, 1)
	last := strconv.Itoa(len(m.raw) - 1)
	const cut = 1 << 20
	for _, test := range []struct {
		name    string
		between []middleware
		starts  []string // of the requests for the file that reach the registry
	}{
		{"the server stumbles over the manifest", []middleware{when(first(2, isManifest), status(500))}, []string{""}},
		{"over the file", []middleware{when(first(2, m.isFile), status(503))}, []string{""}},
		{"too many requests", []middleware{when(first(1, m.isFile), status(429))}, []string{""}},
		{"the manifest is cut", []middleware{when(first(1, isManifest), cutAfter(100))}, []string{""}},
		{"the file is cut", []middleware{when(first(1, m.isFile), cutAfter(cut))}, []string{"", "bytes=1048576-" + last}},
		{"each time one more part comes", []middleware{when(first(2, m.isFile), cutAfter(cut))}, []string{"", "bytes=1048576-" + last, "bytes=2097152-" + last}},
		{"it is cut, and the server knows no ranges", []middleware{noRanges, when(first(1, m.isFile), cutAfter(cut))}, []string{"", ""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			host := newRegistry(t, append(test.between[:len(test.between):len(test.between)], starts(m, &got))...)
			push(t, m, host+"/x:v1", oci.PushOptions{})
			s := newStore(t)
			pulled, err := pull(t, s, host+"/x:v1", unsigned())
			wantHere(t, s, m, pulled, err)
			if fmt.Sprint(got) != fmt.Sprint(test.starts) {
				t.Errorf("the file was asked for from %q, want %q", got, test.starts)
			}
		})
	}
}

// What came before an interruption is kept, and the next pull goes on from there, also from another place.
func TestAPullGoesOnFromAnotherPlace(t *testing.T) {
	m := makeImprint(t, 1)
	const cut = 1 << 20
	broken := newRegistry(t, when(m.isFile, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Header.Get("Range") != "" {
			panic(http.ErrAbortHandler)
		}
		cutAfter(cut)(w, r, next)
	}))
	push(t, m, broken+"/x:v1", oci.PushOptions{})
	var asked []string
	whole := newRegistry(t, starts(m, &asked))
	push(t, m, whole+"/y:v1", oci.PushOptions{})
	folder := "oci:" + filepath.Join(t.TempDir(), "layout") + ":v1"
	push(t, m, folder, oci.PushOptions{})

	for _, place := range []string{whole + "/y:v1", folder} {
		s := newStore(t)
		_, err := pull(t, s, broken+"/x:v1", unsigned())
		wantRefused(t, s, err, fault.CodeDownloadFailed)
		if left := partials(t, s); len(left) != 1 || left[sha(string(m.raw)).String()+".part"] != cut {
			t.Errorf("kept: %v", left)
		}
		got, err := pull(t, s, place, unsigned())
		wantHere(t, s, m, got, err)
	}
	if want := fmt.Sprintf("bytes=%d-%d", cut, len(m.raw)-1); len(asked) != 1 || asked[0] != want {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}

// A part that was spoiled in the meantime costs a second try, not the imprint.
func TestASpoiledPartIsFetchedAnew(t *testing.T) {
	m := makeImprint(t, 1)
	place := "oci:" + filepath.Join(t.TempDir(), "layout") + ":v1"
	push(t, m, place, oci.PushOptions{})
	for name, part := range map[string][]byte{
		"other bytes": []byte("spoiled"), "as many bytes": make([]byte, len(m.raw)), "more bytes": make([]byte, len(m.raw)+1),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			dir, err := s.Partial()
			if err != nil {
				t.Fatal(err)
			}
			spit(t, filepath.Join(dir, sha(string(m.raw)).String()+".part"), part)
			got, err := pull(t, s, place, oci.PullOptions{})
			wantHere(t, s, m, got, err)
		})
	}
}

func TestTroubleThatStays(t *testing.T) {
	m := makeImprint(t, 1)
	isConfig := func(r *http.Request) bool {
		return r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") && !m.isFile(r)
	}
	flipped := func(at int) func(http.ResponseWriter, *http.Request, http.Handler) {
		return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			for key, values := range answer.Header() {
				w.Header()[key] = values
			}
			body := answer.Body.Bytes()
			body[at] ^= 1
			w.WriteHeader(answer.Code)
			w.Write(body)
		}
	}
	sends := func(body string, header ...string) func(http.ResponseWriter, *http.Request, http.Handler) {
		return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			io.WriteString(w, body)
		}
	}
	const image = "application/vnd.oci.image.manifest.v1+json"
	for _, test := range []struct {
		name    string
		between middleware
		want    fault.Code
		keeps   bool // bytes to go on from
	}{
		{"no manifest", when(isManifest, status(500)), fault.CodeDownloadFailed, false},
		{"no config", when(isConfig, status(500)), fault.CodeDownloadFailed, false},
		{"no file", when(m.isFile, status(500)), fault.CodeDownloadFailed, false},
		{"the file is gone", when(m.isFile, status(404)), fault.CodeDownloadFailed, false},
		{"not allowed", when(m.isFile, status(403)), fault.CodeDownloadFailed, false},
		{"the manifest is cut", when(isManifest, cutAfter(100)), fault.CodeDownloadFailed, false},
		{"the config is cut", when(isConfig, cutAfter(100)), fault.CodeDownloadFailed, false},
		{"the file is cut at its start", when(m.isFile, cutAfter(0)), fault.CodeDownloadFailed, false},
		{"the file is cut, and never goes on", when(m.isFile, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Header.Get("Range") != "" {
				panic(http.ErrAbortHandler)
			}
			cutAfter(1000)(w, r, next)
		}), fault.CodeDownloadFailed, true},
		{"another byte in the manifest", when(isManifest, flipped(40)), fault.CodeDownloadDigestMismatch, false},
		{"in the config", when(isConfig, flipped(40)), fault.CodeDownloadDigestMismatch, false},
		{"at the file's start", when(m.isFile, flipped(0)), fault.CodeDownloadDigestMismatch, false},
		{"at the file's end", when(m.isFile, flipped(len(m.raw)-1)), fault.CodeDownloadDigestMismatch, false},
		{"a shorter file", when(m.isFile, sends("short")), fault.CodeDownloadDigestMismatch, false},
		{"a longer file", when(m.isFile, sends(string(m.raw)+"!", "Content-Length", strconv.Itoa(len(m.raw)+1))), fault.CodeDownloadDigestMismatch, false},
		{"a file without an end", when(m.isFile, func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}), fault.CodeDownloadDigestMismatch, false},
		{"a config without an end", when(isConfig, func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}), fault.CodeDownloadDigestMismatch, false},
		{"a manifest without an end", when(isManifest, func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}), fault.CodeImprintNotFound, false},
		{"a web page", when(isManifest, sends("<html>please log in</html>", "Content-Type", "text/html")), fault.CodeImprintNotFound, false},
		{"a manifest that isn't JSON", when(isManifest, sends("{", "Content-Type", image)), fault.CodeImprintNotFound, false},
		{"it leads to a place in the clear", when(m.isFile, func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			http.Redirect(w, r, "http://registry.invalid/file", http.StatusTemporaryRedirect)
		}), fault.CodeDownloadFailed, false},
		{"it leads in a circle", when(m.isFile, func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
		}), fault.CodeDownloadFailed, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			host := newRegistry(t, test.between)
			push(t, m, host+"/x:v1", oci.PushOptions{})
			s := newStore(t)
			_, err := pull(t, s, host+"/x:v1", unsigned())
			wantRefused(t, s, err, test.want)
			if left := partials(t, s); (len(left) > 0) != test.keeps {
				t.Errorf("kept: %v", left)
			}
			if err != nil && (!strings.HasPrefix(err.Error(), host+"/x:v1") || strings.ContainsRune(err.Error(), '\x1b')) {
				t.Errorf("the message is %q", err)
			}
			if err != nil && strings.Contains(test.name, "in the clear") && !strings.Contains(err.Error(), "registry.invalid would be asked") {
				t.Errorf("it was asked: %v", err)
			}
		})
	}
}

// A part that isn't the one that was asked for would end as a file of mixed pieces.
func TestAnotherPartThanWasAskedFor(t *testing.T) {
	m := makeImprint(t, 1)
	host := newRegistry(t, when(m.isFile, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Header.Get("Range") == "" {
			cutAfter(1000)(w, r, next)
		}
		w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", len(m.raw)-1, len(m.raw)))
		w.WriteHeader(http.StatusPartialContent)
		w.Write(m.raw)
	}))
	push(t, m, host+"/x:v1", oci.PushOptions{})
	s := newStore(t)
	_, err := pull(t, s, host+"/x:v1", unsigned())
	wantRefused(t, s, err, fault.CodeDownloadDigestMismatch)
	if left := partials(t, s); len(left) > 0 {
		t.Errorf("kept: %v", left)
	}
}

// hang answers nothing, or half, until the client goes away.
func hang(m made, half bool, reached chan<- struct{}) middleware {
	return when(m.isFile, func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		if half {
			w.Header().Set("Content-Length", strconv.Itoa(len(m.raw)))
			w.Write(m.raw[:1000])
			w.(http.Flusher).Flush()
		}
		select {
		case reached <- struct{}{}:
		default:
		}
		<-r.Context().Done()
	})
}

func TestAServerThatHangs(t *testing.T) {
	m := makeImprint(t, 1)
	for name, half := range map[string]bool{"before the file": false, "in the middle of it": true} {
		t.Run(name, func(t *testing.T) {
			reached := make(chan struct{}, 1)
			host := newRegistry(t, hang(m, half, reached))
			push(t, m, host+"/x:v1", oci.PushOptions{})

			s := newStore(t)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-reached
				cancel()
			}()
			_, err := quick().Pull(ctx, s, target(t, host+"/x:v1"), unsigned())
			if !errors.Is(err, context.Canceled) {
				t.Errorf("interrupted: %v", err)
			}
			wantRefused(t, s, fault.From(err), fault.CodeCancelled)

			c := oci.New(oci.Config{Wait: time.Microsecond, Attempts: 2, Stall: 50 * time.Millisecond})
			_, err = c.Pull(t.Context(), s, target(t, host+"/x:v1"), unsigned())
			wantRefused(t, s, err, fault.CodeDownloadFailed)
			if err == nil || !strings.Contains(err.Error(), "nothing moved") {
				t.Errorf("left alone: %v", err)
			}
		})
	}
}

func TestLogins(t *testing.T) {
	m := makeImprint(t, 1)
	host := newRegistry(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if name, password, _ := r.BasicAuth(); name != "user" || password != "secret" {
				w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	config := filepath.Join(t.TempDir(), "config.json")
	login := func(text string) oci.Config {
		spit(t, config, []byte(`{"auths":{"`+host+`":{"auth":"`+base64.StdEncoding.EncodeToString([]byte(text))+`"}}}`))
		return oci.Config{DockerConfig: config, Attempts: 2, Wait: time.Microsecond}
	}
	to := target(t, host+"/x:v1")
	if _, err := oci.New(login("user:secret")).Push(t.Context(), m.open(t), to, oci.PushOptions{}); err != nil {
		t.Fatal(err)
	}
	s := newStore(t)
	for name, cfg := range map[string]oci.Config{
		"wrong": login("user:guess"), "none": {}, "no file": {DockerConfig: filepath.Join(t.TempDir(), "none.json")},
	} {
		_, err := oci.New(cfg).Pull(t.Context(), s, to, unsigned())
		wantRefused(t, s, err, fault.CodeDownloadFailed)
		if err != nil && (strings.Contains(err.Error(), "guess") || !strings.Contains(fault.From(err).Hint, "log in")) {
			t.Errorf("%s: %v, %s", name, err, fault.From(err).Hint)
		}
		if _, err := oci.New(cfg).Push(t.Context(), m.open(t), to, oci.PushOptions{}); !fault.Is(err, fault.CodeUploadFailed) {
			t.Errorf("%s: push: %v", name, err)
		}
	}
	got, err := oci.New(login("user:secret")).Pull(t.Context(), s, to, unsigned())
	wantHere(t, s, m, got, err)

	spit(t, config, []byte(`{`))
	if _, err := oci.New(oci.Config{DockerConfig: config}).Pull(t.Context(), s, to, unsigned()); !fault.Is(err, fault.CodeInvalidArguments) {
		t.Errorf("a broken file: %v", err)
	}
}
