package tools_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edge/internal/canon"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/tools"
)

// clock is a time that tests move by hand. It starts now, since claims carry the file system's time.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Now().Truncate(time.Millisecond)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func store(t testing.TB, dir string, c *clock) *tools.PendingStore {
	t.Helper()
	s, err := tools.NewPendingStore(dir, c.Now, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func binding(t testing.TB, set *tools.ActiveSet) tools.Binding {
	t.Helper()
	c, err := tools.NewCall("pay", []byte(`{"amount":5,"to":"Ann"}`))
	if err != nil {
		t.Fatal(err)
	}
	b, err := set.Bind(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func create(t testing.TB, s *tools.PendingStore) tools.Offer {
	t.Helper()
	o, err := s.Create(binding(t, freeze(t, pay())))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func open(s *tools.PendingStore, path, token string) (tools.CheckedAction, error) {
	a, err := s.Load(path)
	if err != nil {
		return tools.CheckedAction{}, err
	}
	return s.Check(a, token)
}

func claim(s *tools.PendingStore, path, token string) (tools.ClaimedAction, error) {
	c, err := open(s, path, token)
	if err != nil {
		return tools.ClaimedAction{}, err
	}
	return s.Claim(c)
}

func TestPendingRoundTrip(t *testing.T) {
	dir, c := filepath.Join(t.TempDir(), "home", "pending"), newClock()
	s := store(t, dir, c)
	set := freeze(t, pay())
	want := binding(t, set)
	o, err := s.Create(want)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" {
		for path, mode := range map[string]os.FileMode{dir: 0o700, o.Path: 0o600} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
				t.Errorf("%s: got %v (%v), want %v", path, info.Mode(), err, mode)
			}
		}
	}
	text, err := os.ReadFile(o.Path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte(o.Token)) {
		t.Error("the token is in the file")
	}
	if canonical, err := canon.Transform(text); err != nil || !bytes.Equal(canonical, text) {
		t.Errorf("the file isn't canonical JSON (%v)", err)
	}
	// Only who has the token can have made the file's code.
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	got := members["mac_sha256"]
	members["mac_sha256"] = strings.Repeat("0", 64)
	unsealed, err := canon.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, []byte(o.Token))
	mac.Write(unsealed)
	if want := fmt.Sprintf("%x", mac.Sum(nil)); got != want {
		t.Errorf("got code %v, want %s", got, want)
	}
	if len(o.Token) != 32 || o.Token == o.ID || strings.HasPrefix(o.Token, "-") {
		t.Errorf("got token %q", o.Token)
	}
	if want := c.Now().Add(tools.PendingLifetime); want.Sub(o.ExpiresAt) > time.Second || o.ExpiresAt.After(want) {
		t.Errorf("expires at %v, want %v", o.ExpiresAt, want)
	}

	checked, err := open(s, o.Path, o.Token)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, checked.Binding()); diff != "" {
		t.Error(diff)
	}
	if err := checked.Binding().Against(set); err != nil {
		t.Error(err)
	}
	if err := set.Validate(checked.Binding().Call()); err != nil {
		t.Error(err)
	}
	claimed, err := s.Claim(checked)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Claim(checked)
	if e := wantCode(t, err, fault.CodeConfirmationAlreadyClaimed); !strings.Contains(e.Message, "hasn't recorded an end") || !strings.Contains(e.Message, time.Now().UTC().Format("2006-01-02T")) {
		t.Errorf("got message %q", e.Message)
	}
	if err := s.Finish(claimed, digest.SHA256Of([]byte("result"))); err != nil {
		t.Fatal(err)
	}
	_, err = open(store(t, dir, c), o.Path, o.Token) // another process, later
	if e := wantCode(t, err, fault.CodeConfirmationAlreadyClaimed); !strings.Contains(e.Message, "it ended at ") {
		t.Errorf("got message %q", e.Message)
	}
	c.Add(time.Hour) // claimed says more than expired
	_, err = open(s, o.Path, o.Token)
	wantCode(t, err, fault.CodeConfirmationAlreadyClaimed)
}

func TestPendingRefuses(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	s := store(t, dir, c)
	o := create(t, s)
	for _, token := range []string{"", "nope", o.Token[:31], o.Token + "0", strings.ToUpper(o.Token) + "x", o.ID} {
		_, err := open(s, o.Path, token)
		wantCode(t, err, fault.CodeConfirmationTokenInvalid)
	}
	other := create(t, s)
	_, err := open(s, o.Path, other.Token)
	wantCode(t, err, fault.CodeConfirmationTokenInvalid)

	for name, path := range map[string]string{
		"no such file":   filepath.Join(dir, "x.json"),
		"no such folder": filepath.Join(dir, "x", "y.json"),
		"not a record":   dir,
		"the claim":      filepath.Join(dir, o.ID+".claim"),
	} {
		_, err := s.Load(path)
		if e := wantCode(t, err, fault.CodePendingNotFound); e.Message == "" {
			t.Error(name)
		}
	}

	text, err := os.ReadFile(o.Path)
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), filepath.Base(o.Path))
	renamed := filepath.Join(dir, "copy.json")
	for _, path := range []string{outside, renamed} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// A copy would have a claim of its own, and so could run once more.
	_, err = open(s, outside, o.Token)
	wantCode(t, err, fault.CodePendingNotFound)
	_, err = open(s, renamed, o.Token)
	wantCode(t, err, fault.CodeConfirmationBindingMismatch)
	copied := store(t, filepath.Dir(outside), c)
	_, err = open(copied, outside, o.Token)
	wantCode(t, err, fault.CodeConfirmationBindingMismatch)

	c.Add(tools.PendingLifetime - time.Second)
	checked, err := open(s, o.Path, o.Token)
	if err != nil {
		t.Errorf("a second before its end: %v", err)
	}
	c.Add(time.Second)
	_, err = open(s, o.Path, o.Token)
	wantCode(t, err, fault.CodeConfirmationExpired)
	_, err = s.Claim(checked) // checked in time, claimed too late
	wantCode(t, err, fault.CodeConfirmationExpired)
}

// Whatever is changed in the file, nothing else than what was offered can be confirmed.
func TestPendingFileTampering(t *testing.T) {
	s := store(t, t.TempDir(), newClock())
	o := create(t, s)
	text, err := os.ReadFile(o.Path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(changed []byte) error {
		t.Helper()
		if err := os.WriteFile(o.Path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := open(s, o.Path, o.Token)
		return err
	}
	for _, edit := range [][2]string{
		{`"amount":5`, `"amount":6`}, {`"to":"Ann"`, `"to":"Eve"`}, {`"tool_name":"pay"`, `"tool_name":"pax"`}, {`/home/ann/tools.py`, `/home/eve/tools.py`},
		{`"execution_level":"commit"`, `"execution_level":"read"`}, {`"names":[]`, `"names":["x"]`}, {`"expires_at":"2`, `"expires_at":"3`},
		{`"created_at":"2`, `"created_at":"1`}, {`"amount":5`, `"amount": 5`}, {`"amount":5`, `"amount":5.0`},
	} {
		if changed := strings.Replace(string(text), edit[0], edit[1], 1); changed == string(text) {
			t.Errorf("the file has no %s", edit[0])
		} else {
			wantCode(t, try([]byte(changed)), fault.CodeConfirmationBindingMismatch)
		}
	}
	wantCode(t, try(append(bytes.Clone(text), '\n')), fault.CodeConfirmationBindingMismatch)
	for at := range text {
		for _, bit := range []byte{1, 0x20} {
			changed := bytes.Clone(text)
			changed[at] ^= bit
			if err := try(changed); err == nil {
				t.Fatalf("flipping bit %#x of byte %d (%q) was accepted", bit, at, text[at])
			} else if code := fault.From(err).Code; code != fault.CodeConfirmationBindingMismatch && code != fault.CodeConfirmationTokenInvalid && code != fault.CodePendingMalformed {
				t.Fatalf("flipping bit %#x of byte %d: got %v", bit, at, err)
			}
		}
	}
	for _, changed := range []string{"", "{}", "null", string(text[:len(text)/2]), string(text) + "{}", strings.Replace(string(text), "{", `{"more":1,`, 1),
		strings.Replace(string(text), "edge.pending_action/v1", "edge.pending_action/v2", 1)} {
		wantCode(t, try([]byte(changed)), fault.CodePendingMalformed)
	}
	if err := try(text); err != nil {
		t.Errorf("the file as it was: %v", err)
	}
}

func TestBindingAgainst(t *testing.T) {
	base := freeze(t, pay())
	b := binding(t, base)
	refreeze := func(change func(*tools.Inspection), list ...tools.Tool) *tools.ActiveSet {
		in := inspection(list...)
		change(&in)
		set, err := tools.Freeze(in, b.Selection)
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	described := pay()
	described.Description = "other"
	for _, test := range []struct {
		name  string
		set   *tools.ActiveSet
		code  fault.Code
		field string
	}{
		{"another file", refreeze(func(in *tools.Inspection) { in.FileSHA256 = digest.SHA256{} }, pay()), fault.CodeToolsFileChanged, "tools_file_sha256"},
		{"another path", refreeze(func(in *tools.Inspection) { in.Path = "/x.py" }, pay()), fault.CodeConfirmationBindingMismatch, "tools_file"},
		{"another generator", refreeze(func(in *tools.Inspection) { in.GeneratorVersion = "2" }, pay()), fault.CodeConfirmationBindingMismatch, "active_set_sha256"},
		{"another set", refreeze(func(*tools.Inspection) {}, pay(), tool("f", "")), fault.CodeConfirmationBindingMismatch, "active_set_sha256"},
		{"another schema", refreeze(func(*tools.Inspection) {}, described), fault.CodeConfirmationBindingMismatch, "tool_schema_sha256"},
		{"no such tool", freeze(t, tool("f", "")), fault.CodeUnknownTool, ""},
	} {
		e := wantCode(t, b.Against(test.set), test.code)
		found := test.field == ""
		for _, m := range e.Mismatches {
			found = found || m.Field == test.field && m.Want != m.Got
		}
		if !found {
			t.Errorf("%s: got mismatches %+v, want %s", test.name, e.Mismatches, test.field)
		}
	}
	changed := b
	changed.Arguments = json.RawMessage(`{"amount":6,"to":"Ann"}`)
	wantCode(t, changed.Against(base), fault.CodeConfirmationBindingMismatch)
	changed = b
	changed.ExecutionLevel = tools.Read
	wantCode(t, changed.Against(base), fault.CodeConfirmationBindingMismatch)
	_, err := base.Bind(tools.Call{ToolName: "pay", Arguments: json.RawMessage(`{}`)})
	wantCode(t, err, fault.CodeInvalidToolArgs)
}

func TestNewPendingStore(t *testing.T) {
	if runtime.GOOS != "windows" {
		wide := t.TempDir()
		if err := os.Chmod(wide, 0o755); err != nil {
			t.Fatal(err)
		}
		store(t, wide, newClock())
		if info, err := os.Stat(wide); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("a wide folder stayed %v (%v)", info.Mode(), err)
		}
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(wide, link); err != nil {
			t.Fatal(err)
		}
		// A folder has one name, however it is reached.
		o := create(t, store(t, link, newClock()))
		if _, err := open(store(t, wide, newClock()), filepath.Join(link, filepath.Base(o.Path)), o.Token); err != nil {
			t.Errorf("through a link: %v", err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tools.NewPendingStore(file, time.Now, rand.Reader); err == nil {
		t.Error("a file was taken for a folder")
	}
	broken, err := tools.NewPendingStore(t.TempDir(), time.Now, io.LimitReader(rand.Reader, 31))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := broken.Create(binding(t, freeze(t, pay()))); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("without randomness: got %v", err)
	}
}
