package oci_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"edge/imprint"
	"edge/imprint/oci"
	"edge/internal/digest"
	"edge/internal/dsse"
	"edge/internal/fault"
	"edge/internal/sealed"
)

func sha(text string) digest.SHA256 { return digest.SHA256Of([]byte(text)) }

// stateBytes is how long the state of the tests' imprints is: many times what goes through a connection at once.
const stateBytes = 3 << 20

// content is an imprint's; other seeds make other imprints.
func content(seed byte) imprint.Content {
	state := bytes.Repeat([]byte{seed, 1, 2, 3, 5, 8, 13}, stateBytes/7)
	return imprint.Content{
		Identity: imprint.Identity{
			Model:              imprint.Model{SHA256: sha("model"), Architecture: "llama"},
			TokenizerSHA256:    sha("tokenizer"),
			ChatTemplateSHA256: sha("template"),
			Engine:             imprint.Engine{Name: "fake", Version: "1"},
			Params: imprint.Params{
				KVTypeK: "f16", KVTypeV: "f16", FlashAttention: true, NBatch: 512, NUBatch: 512,
			},
			PromptFormatVersion: "1",
		},
		BakedOn: imprint.Platform{OS: "linux", Arch: "amd64", CPU: "test"},
		Tokens:  []uint32{1, 2, uint32(seed)},
		State:   sealed.Fresh(state, 3),
	}
}

// made is an imprint in a file.
type made struct {
	id   imprint.ID
	path string
	raw  []byte
}

func makeImprint(t testing.TB, seed byte) made {
	t.Helper()
	m := made{path: filepath.Join(t.TempDir(), "x.imprint")}
	var err error
	if m.id, err = imprint.Write(t.Context(), m.path, content(seed)); err != nil {
		t.Fatal(err)
	}
	m.raw = slurp(t, m.path)
	return m
}

func (m made) open(t testing.TB) *imprint.Unverified {
	t.Helper()
	u, err := imprint.Open(m.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.Close() })
	return u
}

func slurp(t testing.TB, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func spit(t testing.TB, path string, raw []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
}

func newStore(t testing.TB) *imprint.Store {
	t.Helper()
	s, err := imprint.NewStore(filepath.Join(t.TempDir(), "imprints"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// quick is a client that doesn't wait between attempts.
func quick() *oci.Client { return oci.New(oci.Config{Wait: time.Microsecond, Attempts: 3}) }

func target(t testing.TB, text string) oci.Target {
	t.Helper()
	parsed, err := oci.ParseTarget(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func push(t testing.TB, m made, to string, opt oci.PushOptions) oci.Pushed {
	t.Helper()
	pushed, err := quick().Push(t.Context(), m.open(t), target(t, to), opt)
	if err != nil {
		t.Fatal(err)
	}
	return pushed
}

func pull(t testing.TB, s *imprint.Store, from string, opt oci.PullOptions) (oci.Pulled, error) {
	t.Helper()
	return quick().Pull(t.Context(), s, target(t, from), opt)
}

// unsigned takes anything.
func unsigned() oci.PullOptions { return oci.PullOptions{TrustUnsigned: true} }

// wantHere wants the imprint in the store, byte for byte, and nothing half done beside it.
func wantHere(t testing.TB, s *imprint.Store, m made, got oci.Pulled, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	u, err := s.Open(m.id.String())
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	r, size := u.Whole()
	raw, err := io.ReadAll(io.NewSectionReader(r, 0, size))
	if err != nil || got.ID != m.id || !bytes.Equal(raw, m.raw) {
		t.Errorf("got %s at %s, want the very file of %s", got.ID, got.Path, m.id)
	}
	if got.Path != filepath.Join(s.Dir(), m.id.Hex()+".imprint") {
		t.Errorf("it lies at %s", got.Path)
	}
	if parts := partials(t, s); len(parts) > 0 {
		t.Errorf("left over: %v", parts)
	}
}

// wantRefused wants the code, and a store that is as empty as before.
func wantRefused(t testing.TB, s *imprint.Store, err error, code fault.Code) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Errorf("got %v, want %s", err, code)
	}
	list, listErr := s.List()
	if listErr != nil || len(list.Entries)+len(list.Damaged) > 0 {
		t.Errorf("the store holds %v and %v (%v)", list.Entries, list.Damaged, listErr)
	}
}

// partials are what interrupted pulls have left, by their names.
func partials(t testing.TB, s *imprint.Store) map[string]int64 {
	t.Helper()
	dir, err := s.Partial()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]int64{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if e.Name() != ".lock" {
			left[e.Name()] = info.Size()
		}
	}
	return left
}

func newKey(t testing.TB) (dsse.PrivateKey, dsse.PublicKey) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	public, err := dsse.GenerateKey(path, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	private, err := dsse.ReadPrivateKey(path)
	if err != nil {
		t.Fatal(err)
	}
	return private, public
}

// middleware stands between a client and the registry.
type middleware func(http.Handler) http.Handler

// newRegistry is a registry in memory behind some handlers, the first of which is asked first. It gives HOST:PORT.
func newRegistry(t testing.TB, between ...middleware) string {
	return serve(t, registry.New(quietly(), registry.WithReferrersSupport(true)), between...)
}

func quietly() registry.Option { return registry.Logger(log.New(io.Discard, "", 0)) }

func serve(t testing.TB, h http.Handler, between ...middleware) string {
	t.Helper()
	for i := len(between) - 1; i >= 0; i-- {
		h = between[i](h)
	}
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return strings.TrimPrefix(server.URL, "http://")
}

// is reports whether a request asks for the largest blob there is here: the imprint's file.
func (m made) isFile(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/blobs/sha256:"+digest.SHA256Of(m.raw).String())
}

func isManifest(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/manifests/")
}

// cancelled is a context with its end.
func cancelable(t testing.TB) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, cancel
}
