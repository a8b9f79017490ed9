package receipts_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edge/internal/digest"
	"edge/internal/fault"
	"edge/receipts"
)

// ticking is a clock that moves on by a second at each look.
func ticking() func() time.Time {
	now := time.Date(2026, 1, 2, 15, 4, 5, 678_900_000, time.FixedZone("somewhere", 3600))
	return func() time.Time {
		now = now.Add(time.Second)
		return now
	}
}

func newStore(dir string) *receipts.Store {
	return receipts.NewStore(receipts.Config{Dir: dir, Clock: ticking(), Version: "0.0.0-test"})
}

func write(t *testing.T, s *receipts.Store, body any) (string, digest.SHA256) {
	t.Helper()
	path, sum, err := s.Write("chat", body)
	if err != nil {
		t.Fatal(err)
	}
	return path, sum
}

func TestAReceiptIsTheDocumentedBytes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "receipts")
	s := newStore(dir)
	first, firstSum := write(t, s, map[string]any{"finish_reason": "answer", "args_sha256": digest.SHA256Of([]byte("{}")), "n": 1.0})
	second, secondSum := write(t, s, map[string]any{})

	want := `{"body":{"args_sha256":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","finish_reason":"answer","n":1},` +
		`"body_sha256":"BODY","created_at":"2026-01-02T14:04:06.678Z","edge":{"go":"GO","version":"0.0.0-test"},"kind":"chat",` +
		`"previous_sha256":null,"record_sha256":"RECORD","schema":"edge.receipt/v1","sequence":1}`
	want = strings.Replace(want, "GO", runtime.Version(), 1)
	body := want[len(`{"body":`):strings.Index(want, `,"body_sha256"`)]
	want = strings.Replace(want, "BODY", digest.SHA256Of([]byte(body)).String(), 1)
	record := digest.SHA256Of([]byte(strings.Replace(want, `"record_sha256":"RECORD",`, "", 1)))
	want = strings.Replace(want, "RECORD", record.String(), 1)
	got, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if firstSum != digest.SHA256Of(got) {
		t.Errorf("got digest %s, want that of the file's bytes", firstSum)
	}
	if want := filepath.Join(dir, "20260102T140406.678Z-chat-00000000.json"); first != want {
		t.Errorf("got %s, want %s", first, want)
	}
	if want := filepath.Join(dir, "20260102T140407.678Z-chat-"+firstSum.String()[:8]+".json"); second != want {
		t.Errorf("got %s, want %s", second, want)
	}
	r, err := receipts.Read(second)
	if err != nil {
		t.Fatal(err)
	}
	if r.Sequence != 2 || r.PreviousSHA256 == nil || *r.PreviousSHA256 != firstSum || r.Kind != "chat" || string(r.Body) != "{}" {
		t.Errorf("got %+v", r)
	}
	head, err := os.ReadFile(filepath.Join(dir, "head.json"))
	wantHead := `{"receipt":"` + filepath.Base(second) + `","receipt_sha256":"` + secondSum.String() + `","schema":"edge.receipt_head/v1","sequence":2}`
	if err != nil || string(head) != wantHead {
		t.Errorf("got head %s (%v), want %s", head, err, wantHead)
	}
	if runtime.GOOS != "windows" {
		for path, want := range map[string]os.FileMode{dir: os.ModeDir | 0o700, first: 0o600, filepath.Join(dir, "head.json"): 0o600, filepath.Join(dir, ".lock"): 0o600} {
			if info, err := os.Stat(path); err != nil || info.Mode() != want {
				t.Errorf("%s: got mode %v (%v), want %v", path, info.Mode(), err, want)
			}
		}
	}
}

// wantMismatch checks that neither reading nor verifying accepts content as a receipt.
func wantMismatch(t *testing.T, path string, content []byte, what string) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := receipts.Read(path); !fault.Is(err, fault.CodeReceiptMismatch) || r != nil {
		t.Fatalf("%s: Read gave %v, %v", what, r, err)
	}
	report, err := receipts.Verify(path, receipts.Options{Check: func(*receipts.Receipt) []receipts.Finding {
		t.Fatalf("%s: its body was looked at", what)
		return nil
	}})
	if !fault.Is(err, fault.CodeReceiptMismatch) || report == nil || len(report.Findings) != 1 || report.Findings[0].Status != receipts.Failed {
		t.Fatalf("%s: Verify gave %v, %v", what, report, err)
	}
}

func TestEveryChangedByteIsFound(t *testing.T) {
	dir := t.TempDir()
	s := newStore(dir)
	write(t, s, map[string]any{"n": 1})
	path, _ := write(t, s, map[string]any{"tool_name": "fee_quote", "prompt_sha256": digest.SHA256Of(nil), "duration_ms": 31.25, "é": nil})
	original, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(t.TempDir(), filepath.Base(path))
	for i := range original {
		content := bytes.Clone(original)
		content[i] ^= 1 << (i % 8)
		wantMismatch(t, changed, content, "a flipped bit")
	}
	for _, more := range []string{" ", "\n", "}", "\x00", string(original)} {
		wantMismatch(t, changed, append(bytes.Clone(original), more...), "a longer file")
		wantMismatch(t, changed, append([]byte(more), original...), "a file with something before it")
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, original, "", " "); err != nil {
		t.Fatal(err)
	}
	wantMismatch(t, changed, indented.Bytes(), "another layout")
	wantMismatch(t, changed, bytes.Replace(original, []byte(`"kind":`), []byte(`"Kind":`), 1), "another case")
	wantMismatch(t, changed, bytes.Replace(original, []byte(`{"body"`), []byte(`{"aa":1,"body"`), 1), "one member more")
	wantMismatch(t, changed, bytes.Repeat([]byte(" "), receipts.MaxSize+1), "a file that is too large")
	if _, err := receipts.Read(path); err != nil {
		t.Errorf("the original: %v", err)
	}
}

func TestAnotherVersionIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	wantMismatch(t, path, []byte(`{"schema":"edge.receipt/v2","more":true}`), "a newer version")
	if _, err := receipts.Read(path); !strings.Contains(err.Error(), `"edge.receipt/v2", and this edge reads "edge.receipt/v1"`) {
		t.Errorf("got %q, want it to name both versions", err)
	}
}

func TestAMissingReceipt(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "absent.json"), dir} {
		if _, err := receipts.Read(path); !fault.Is(err, fault.CodeReceiptNotFound) {
			t.Errorf("Read: got %v", err)
		}
		if report, err := receipts.Verify(path, receipts.Options{}); !fault.Is(err, fault.CodeReceiptNotFound) || report != nil {
			t.Errorf("Verify: got %v, %v", report, err)
		}
	}
	if report, err := receipts.VerifyChain(filepath.Join(dir, "absent")); !fault.Is(err, fault.CodeReceiptNotFound) || report != nil {
		t.Errorf("VerifyChain: got %v, %v", report, err)
	}
}

func checks(findings []receipts.Finding) (got []string) {
	for _, f := range findings {
		got = append(got, f.Check+" "+string(f.Status))
	}
	return got
}

func TestVerify(t *testing.T) {
	dir := t.TempDir()
	s := newStore(dir)
	first, firstSum := write(t, s, map[string]any{"n": 1})
	second, _ := write(t, s, map[string]any{"n": 2})
	copied := filepath.Join(t.TempDir(), "evidence.json")
	content, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, content, 0o600); err != nil {
		t.Fatal(err)
	}
	named := func(status receipts.Status) func(*receipts.Receipt) []receipts.Finding {
		return func(r *receipts.Receipt) []receipts.Finding {
			return []receipts.Finding{{Check: "artifact of " + string(r.Body), Status: status, Message: "m"}}
		}
	}
	tests := []struct {
		name, path string
		opts       receipts.Options
		want       []string
		fails      bool
	}{
		{"an older one", first, receipts.Options{}, []string{"bytes passed"}, false},
		{"the newest", second, receipts.Options{}, []string{"bytes passed", "head passed"}, false},
		{"a copy", copied, receipts.Options{}, []string{"bytes passed", "name note"}, false},
		{"the printed digest", first, receipts.Options{Want: firstSum}, []string{"bytes passed", "digest passed"}, false},
		{"another printed digest", second, receipts.Options{Want: firstSum}, []string{"bytes passed", "digest failed", "head passed"}, true},
		{"what it names is right", first, receipts.Options{Check: named(receipts.Passed)}, []string{"bytes passed", `artifact of {"n":1} passed`}, false},
		{"what it names is wrong", first, receipts.Options{Check: named(receipts.Failed)}, []string{"bytes passed", `artifact of {"n":1} failed`}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			report, err := receipts.Verify(test.path, test.opts)
			if fault.Is(err, fault.CodeReceiptMismatch) != test.fails || !test.fails && err != nil {
				t.Errorf("got error %v, want one: %t", err, test.fails)
			}
			if diff := cmp.Diff(test.want, checks(report.Findings)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(first, 0o644); err != nil {
		t.Fatal(err)
	}
	report, err := receipts.Verify(first, receipts.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"bytes passed", "mode note"}, checks(report.Findings)); diff != "" {
		t.Error(diff)
	}
}

// A receipt that was rewritten with fresh digests is right by itself; head.json still has the digest of the first one.
func TestTheNewestOneRewritten(t *testing.T) {
	dir, forge := t.TempDir(), t.TempDir()
	write(t, newStore(dir), map[string]any{"decision": "refused"})
	forged, _ := write(t, newStore(forge), map[string]any{"decision": "restored"})
	target := filepath.Join(dir, filepath.Base(forged))
	if err := os.Rename(forged, target); err != nil {
		t.Fatal(err)
	}
	report, err := receipts.Verify(target, receipts.Options{})
	if !fault.Is(err, fault.CodeReceiptMismatch) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"bytes passed", "head failed"}, checks(report.Findings)); diff != "" {
		t.Error(diff)
	}
}

func TestContentsAreRefused(t *testing.T) {
	sum := digest.SHA256Of([]byte("x")).String()
	tests := []struct {
		name string
		body any
		says string // "" where it is accepted
	}{
		{"digests and numbers", map[string]any{"prompt_sha256": sum, "answer_sha256": nil, "tokens": 541, "calls": []any{map[string]any{"args_sha256": sum}}}, ""},
		{"a digest by itself", map[string]any{"model": map[string]any{"sha256": sum}}, ""},
		{"digests by file name", map[string]any{"libraries_sha256": map[string]any{"libllama.so": sum}, "loaded_sha256": []any{sum, sum}}, ""},
		{"a tagged digest", map[string]any{"imprint": "blake3:" + sum}, ""},
		{"what differed", map[string]any{"mismatches": []any{map[string]any{"field": "model_sha256", "want": sum, "got": "absent"}}}, ""},
		{"a struct", struct {
			Tool string `json:"tool_name"`
		}{"x"}, ""},
		{"a prompt", map[string]any{"prompt": "hello"}, "body.prompt"},
		{"an answer inside", map[string]any{"turns": []any{1, map[string]any{"answer": "x"}}}, "body.turns[1].answer"},
		{"arguments", map[string]any{"call": map[string]any{"arguments": map[string]any{}}}, "body.call.arguments"},
		{"a result that is null", map[string]any{"result": nil}, "body.result"},
		{"a token", map[string]any{"pending": map[string]any{"token": "t"}}, "body.pending.token"},
		{"in another case", map[string]any{"Confirmation_Token": "t"}, "body.Confirmation_Token"},
		{"a traceback", map[string]any{"error": map[string]any{"traceback": "t"}}, "body.error.traceback"},
		{"a digest under another name", map[string]any{"file": sum}, "body.file holds a SHA-256"},
		{"a name without a digest", map[string]any{"args_sha256": "{}"}, "body.args_sha256 is named for a digest"},
		{"a number for a digest", map[string]any{"args_sha256": 7}, "body.args_sha256 is named for a digest"},
		{"a list", []any{1}, "an object"},
		{"a string", "x", "an object"},
		{"null", nil, "an object"},
		{"what isn't JSON", map[string]any{"f": func() {}}, "body"},
		{"a big integer", map[string]any{"n": int64(1) << 60}, "2^53"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			err := receipts.CheckBody(test.body)
			_, _, errWrite := newStore(dir).Write("chat", test.body)
			if (err == nil) != (test.says == "") || (errWrite == nil) != (test.says == "") {
				t.Fatalf("got %v and %v, want an error: %t", err, errWrite, test.says != "")
			}
			if err == nil {
				return
			}
			if !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %q, want it to say %q", err, test.says)
			}
			if entries, _ := os.ReadDir(dir); len(entries) != 0 {
				t.Errorf("%d files were written", len(entries))
			}
		})
	}
}

func TestWhatIsNotWritten(t *testing.T) {
	for _, kind := range []string{"", "Chat", "tool-call", "../chat", "chat.json", "7", strings.Repeat("k", 33)} {
		if _, _, err := newStore(t.TempDir()).Write(kind, map[string]any{}); err == nil {
			t.Errorf("kind %q was accepted", kind)
		}
	}
	big := map[string]any{"note": strings.Repeat("x", receipts.MaxSize)}
	if _, _, err := newStore(t.TempDir()).Write("chat", big); err == nil {
		t.Error("a receipt that can't be read back was written")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := newStore(filepath.Join(file, "receipts")).Write("chat", map[string]any{}); err == nil {
		t.Error("a folder was made inside a file")
	}
}
