package imprint_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/zeebo/blake3"

	"edge/imprint"
	"edge/internal/fault"
	"edge/internal/sealed"
)

// imprint-v1 §3 and §8.
func TestWriteIsDeterministicAndPrivate(t *testing.T) {
	path, first := write(t, full())
	_, second := write(t, full())
	if !bytes.Equal(first, second) {
		t.Error("the same content gave other bytes")
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	id, err := imprint.ComputeID(full())
	if err != nil {
		t.Fatal(err)
	}
	header, _ := split(first)
	if want := imprint.ID(blake3.Sum256(header)); id != want {
		t.Errorf("id: got %s, want the header's digest %s", id, want)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("the folder holds %v", left)
	}
}

func TestTheIDCoversEverything(t *testing.T) {
	base, err := imprint.ComputeID(full())
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(c *imprint.Content){
		"identity": func(c *imprint.Content) { c.Identity.Params.NUBatch++ },
		"platform": func(c *imprint.Content) { c.BakedOn.CPU = "x" },
		"learned":  func(c *imprint.Content) { c.Learned[0] ^= 1 },
		"state":    func(c *imprint.Content) { c.State = sealed.Fresh(pattern(9, 100), len(c.Tokens)) },
		"tokens":   func(c *imprint.Content) { c.Tokens[0]++; c.Identity.PrefixSHA256 = imprint.PrefixSHA256(c.Tokens) },
	} {
		c := full()
		change(&c)
		if id, err := imprint.ComputeID(c); err != nil || id == base {
			t.Errorf("%s: %s, %v", name, id, err)
		}
	}
}

// imprint-v1 §3 and §5, read without this package's help.
func TestLayout(t *testing.T) {
	_, raw := write(t, full())
	header, body := split(raw)
	sum := blake3.Sum256(header)
	if string(raw[:8]) != "EDGEIMP\x00" || binary.LittleEndian.Uint32(raw[8:]) != 1 ||
		binary.LittleEndian.Uint64(raw[16:]) != uint64(len(raw)) || !bytes.Equal(raw[24:56], sum[:]) {
		t.Errorf("prelude % x", raw[:preludeSize])
	}
	if want := []byte{1, 0, 0, 0, 2, 0, 0, 0, 0x70, 0x11, 1, 0}; !bytes.Equal(body[:12], want) {
		t.Errorf("tokens % x", body[:12])
	}
	if !bytes.Equal(body[alignment:alignment+100], full().Learned) || !bytes.Equal(body[2*alignment:], full().State.Bytes()) {
		t.Error("the sections aren't where they belong")
	}
	if !bytes.HasPrefix(header, []byte(`{"baked_on":{"arch":"amd64","cpu":"AVX512","os":"linux"},"format":"edge.imprint/v1","identity":{`)) {
		t.Errorf("header %s", header)
	}
}

func TestWriteFillsInThePrefixDigest(t *testing.T) {
	c := full()
	c.Identity.PrefixSHA256 = [32]byte{}
	got, err := imprint.ComputeID(c)
	if err != nil {
		t.Fatal(err)
	}
	if want, _ := imprint.ComputeID(full()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// imprint-v1 §8: content for which a reader would refuse the file.
func TestWriteRefusesWhatNoReaderTakes(t *testing.T) {
	for want, change := range map[string]func(c *imprint.Content){
		"no tokens":           func(c *imprint.Content) { c.Tokens = nil },
		"no state":            func(c *imprint.Content) { c.State = sealed.State{} },
		"stands for 2 tokens": func(c *imprint.Content) { c.State = sealed.Fresh([]byte("x"), 2) },
		"the identity says":   func(c *imprint.Content) { c.Identity.PrefixSHA256 = sha("x") },
		"model.sha256":        func(c *imprint.Content) { c.Identity.Model = imprint.Model{} },
		"learned_version":     func(c *imprint.Content) { c.Learned = nil },
		"aren't sorted":       func(c *imprint.Content) { c.Identity.Tools[0].Name = "z" },
		"more than 1048576":   func(c *imprint.Content) { c.BakedOn.CPU = strings.Repeat("x", imprint.MaxHeader) },
		"UTF-8":               func(c *imprint.Content) { c.BakedOn.CPU = "\xff" },
	} {
		c := full()
		change(&c)
		path := filepath.Join(t.TempDir(), "x.imprint")
		if _, err := imprint.Write(context.Background(), path, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want something about %s", err, want)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the file is there: %v", want, err)
		}
	}
}

func TestWriteWhereNothingCanBeWritten(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"no folder": filepath.Join(dir, "no", "x"), "a folder": dir, "inside a file": filepath.Join(file, "x")} {
		if _, err := imprint.Write(context.Background(), path, full()); !fault.Is(err, fault.CodePathNotWritable) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// imprint-v1 §8: whole or not at all.
func TestACancelledWriteLeavesTheOldFile(t *testing.T) {
	path, before := write(t, full())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := imprint.Write(ctx, path, large()); fault.From(err).Code != fault.CodeCancelled {
		t.Errorf("got %v", err)
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the old file changed: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("the folder holds %v", left)
	}
}

// meddler is a context that does something when it is first asked for its error: between the digests and the bytes.
type meddler struct {
	context.Context
	once *sync.Once
	do   func()
}

func (m meddler) Err() error {
	m.once.Do(m.do)
	return nil
}

// imprint-v1 §8: what was written is read back before it gets its name.
func TestAFileThatDoesNotVerifyNeverExists(t *testing.T) {
	path, before := write(t, full())
	c := large()
	ctx := meddler{context.Background(), new(sync.Once), func() { c.State.Bytes()[5_000_000] ^= 1 }}
	if _, err := imprint.Write(ctx, path, c); !fault.Is(err, fault.CodeImprintPayloadMismatch) {
		t.Errorf("got %v", err)
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the old file changed: %v", err)
	}
}

func TestKind(t *testing.T) {
	for kv, want := range map[string]string{"f16": imprint.KindState, "q8_0": imprint.KindState, imprint.KindReplay: imprint.KindReplay} {
		c := full()
		c.Identity.Params.KVTypeK, c.Identity.Params.KVTypeV = kv, kv
		c.Quality = imprint.Quality{}
		path, _ := write(t, c)
		u, err := imprint.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := u.Header().Kind(); got != want {
			t.Errorf("%s: got %s, want %s", kv, got, want)
		}
		u.Close()
	}
}
