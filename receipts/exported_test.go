package receipts_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"edge/internal/digest"
	"edge/internal/dsse"
	"edge/internal/fault"
	"edge/receipts"
)

// exported gives the lines, each with its end, of the export of a new chain of n receipts.
func exported(t testing.TB, n int, key *dsse.PrivateKey) [][]byte {
	t.Helper()
	_, paths := newChain(t, n)
	slices.Reverse(paths) // the order of the chain is Export's to find
	var out bytes.Buffer
	if got, err := receipts.Export(&out, append(paths, paths[0]), key); err != nil || got != n {
		t.Fatalf("exported %d receipts, want %d: %v", got, n, err)
	}
	return slices.Collect(bytes.Lines(out.Bytes()))
}

func verifyLines(t testing.TB, lines [][]byte, opts receipts.ExportOptions) (*receipts.ExportReport, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "receipts.intoto.jsonl")
	put(t, path, bytes.Join(lines, nil))
	return receipts.VerifyExport(path, opts)
}

func newKey(t testing.TB) (dsse.PrivateKey, dsse.PublicKey, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	public, err := dsse.GenerateKey(path, rand.Reader)
	must(t, err)
	private, err := dsse.ReadPrivateKey(path)
	must(t, err)
	return private, public, path + dsse.PublicSuffix
}

func TestAnExportedReceiptIsTheDocumentedStatement(t *testing.T) {
	sum := func(text string) string { return digest.SHA256Of([]byte(text)).String() }
	path, own := write(t, newStore(t.TempDir()), map[string]any{
		"artifact_id": "blake3:" + sum("i"), "model": map[string]any{"sha256": sum("m"), "name": "m"}, "tools_file_sha256": sum("f"),
		"tool_calls": []any{map[string]any{"args_sha256": sum("a"), "result_sha256": nil}},
		"mismatches": []any{map[string]any{"field": "model_sha256", "got": sum("g"), "want": sum("w")}},
	})
	var out bytes.Buffer
	if _, err := receipts.Export(&out, []string{path}, nil); err != nil {
		t.Fatal(err)
	}
	one := func(name, kind, hex string) string {
		return fmt.Sprintf(`{"digest":{"%s":"%s"},"name":"%s"}`, kind, hex, name)
	}
	want := `{"_type":"https://in-toto.io/Statement/v1","predicate":` + string(slurp(t, path)) + `,"predicateType":"edge:receipt/v1","subject":[` +
		strings.Join([]string{
			one(filepath.Base(path), "sha256", own.String()), one("artifact_id", "blake3", sum("i")), one("model.sha256", "sha256", sum("m")),
			one("tool_calls[0].args_sha256", "sha256", sum("a")), one("tools_file_sha256", "sha256", sum("f")),
		}, ",") + "]}\n"
	if out.String() != want {
		t.Errorf("got  %s\nwant %s", out.String(), want)
	}
}

// A signature is of the statement's bytes, in the encoding of the DSSE protocol, which is written here from its page.
func TestASignedExport(t *testing.T) {
	private, public, keyFile := newKey(t)
	_, other, _ := newKey(t)
	plain, signed := exported(t, 3, nil), exported(t, 3, &private)
	block, _ := pem.Decode(slurp(t, keyFile))
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	must(t, err)
	for i, line := range signed {
		var e struct {
			PayloadType string
			Payload     []byte
			Signatures  []struct{ Sig []byte }
		}
		must(t, json.Unmarshal(line, &e))
		if want := bytes.TrimSuffix(plain[i], []byte("\n")); !bytes.Equal(e.Payload, want) {
			t.Errorf("line %d: got the payload %s, want %s", i, e.Payload, want)
		}
		pae := fmt.Sprintf("DSSEv1 28 application/vnd.in-toto+json %d %s", len(e.Payload), e.Payload)
		if e.PayloadType != "application/vnd.in-toto+json" || !ed25519.Verify(key.(ed25519.PublicKey), []byte(pae), e.Signatures[0].Sig) {
			t.Errorf("line %d isn't signed as DSSE wants: %s", i, line)
		}
	}
	report, err := verifyLines(t, signed, receipts.ExportOptions{Trust: []dsse.PublicKey{other, public}})
	if err != nil || report.Receipts != 3 || len(report.Signers) != 1 || report.Signers[0] != public.ID() {
		t.Errorf("got %+v, %v", report, err)
	}
	if _, err := verifyLines(t, signed, receipts.ExportOptions{Trust: []dsse.PublicKey{other}}); !fault.Is(err, fault.CodeReceiptMismatch) {
		t.Errorf("another key is trusted: %v", err)
	}
	if _, err := verifyLines(t, plain, receipts.ExportOptions{Trust: []dsse.PublicKey{public}}); !fault.Is(err, fault.CodeReceiptMismatch) {
		t.Errorf("it isn't signed: %v", err)
	}
	mixed := [][]byte{signed[0], plain[1], signed[2]}
	if _, err := verifyLines(t, mixed, receipts.ExportOptions{Trust: []dsse.PublicKey{public}}); !fault.Is(err, fault.CodeReceiptMismatch) {
		t.Errorf("one of them isn't signed: %v", err)
	}
	if report, err := verifyLines(t, signed, receipts.ExportOptions{}); err != nil || len(report.Signers) != 0 || !slices.Contains(checks(report.Findings), "signature note") {
		t.Errorf("no key is trusted: %+v, %v", report, err)
	}
}

func TestEveryChangedByteOfAnExport(t *testing.T) {
	private, public, _ := newKey(t)
	for name, lines := range map[string][][]byte{"plain": exported(t, 1, nil), "signed": exported(t, 1, &private)} {
		opts := receipts.ExportOptions{}
		if name == "signed" {
			opts.Trust = []dsse.PublicKey{public}
		}
		want, err := verifyLines(t, lines, opts)
		must(t, err)
		whole := bytes.Join(lines, nil)
		path := filepath.Join(t.TempDir(), "export")
		for i := range whole {
			changed := bytes.Clone(whole)
			changed[i] ^= 1 << (i % 8)
			put(t, path, changed)
			got, err := receipts.VerifyExport(path, opts)
			// The name of a key is a hint, and the last digit of a signature has bits that stand for nothing.
			same := err == nil && name == "signed" && got.Receipts == 1 && got.LastSHA256 == want.LastSHA256
			if !fault.Is(err, fault.CodeReceiptMismatch) && !same {
				t.Fatalf("%s: byte %d: %v", name, i, err)
			}
		}
	}
}

// Whatever is left out, moved or repeated is found, unless what is left is the chain's beginning.
func TestAnyTamperedExport(t *testing.T) {
	lines := exported(t, 6, nil)
	rapid.Check(t, func(rt *rapid.T) {
		order := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 7).Draw(rt, "lines")
		var chosen [][]byte
		beginning := true
		for i, n := range order {
			chosen = append(chosen, lines[n])
			beginning = beginning && i == n
		}
		report, err := verifyLines(t, chosen, receipts.ExportOptions{})
		if beginning && (err != nil || report.Receipts != len(order) || report.Limit != receipts.ExportCutTail) {
			rt.Fatalf("the first %d: %+v, %v", len(order), report, err)
		}
		if !beginning && !fault.Is(err, fault.CodeReceiptMismatch) {
			rt.Fatalf("lines %v: %v", order, err)
		}
		rising := slices.IsSortedFunc(order, func(a, b int) int { return a - b }) && len(slices.Compact(slices.Clone(order))) == len(order)
		if _, err := verifyLines(t, chosen, receipts.ExportOptions{Part: true}); rising != (err == nil) {
			rt.Fatalf("lines %v as a part: %v", order, err)
		}
	})
}

func TestWhatIsNoExport(t *testing.T) {
	ours, theirs := exported(t, 3, nil), [][]byte{}
	var out bytes.Buffer
	if _, err := receipts.Export(&out, []string{forge(t, 2)}, nil); err != nil {
		t.Fatal(err)
	}
	theirs = slices.Collect(bytes.Lines(out.Bytes()))
	for name, lines := range map[string][][]byte{
		"nothing":           nil,
		"an empty line":     {ours[0], []byte("\n"), ours[1]},
		"text":              {[]byte("hello\n")},
		"another chain's":   {ours[0], theirs[0], ours[2]},
		"half a line":       {ours[0], ours[1][:100]},
		"two on a line":     {bytes.TrimSuffix(ours[0], []byte("\n")), ours[1]},
		"another statement": {bytes.Replace(ours[0], []byte("edge:receipt/v1"), []byte("edge:receipt/v2"), 1)},
		"another subject":   {bytes.Replace(ours[0], []byte(`"name":"2026`), []byte(`"name":"2027`), 1)},
		"too long a line":   {bytes.Repeat([]byte(" "), 5*receipts.MaxSize)},
	} {
		if report, err := verifyLines(t, lines, receipts.ExportOptions{}); !fault.Is(err, fault.CodeReceiptMismatch) || report == nil {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
	}
	dir, paths := newChain(t, 2)
	if _, err := receipts.VerifyExport(filepath.Join(dir, "none"), receipts.ExportOptions{}); !fault.Is(err, fault.CodeReceiptNotFound) {
		t.Errorf("no file: %v", err)
	}
	if _, err := receipts.VerifyExport(dir, receipts.ExportOptions{}); !fault.Is(err, fault.CodeReceiptNotFound) {
		t.Errorf("a folder: %v", err)
	}
	if receipts.IsExport(paths[0]) || receipts.IsExport(dir) {
		t.Error("a receipt or a folder is taken for an export")
	}
	if _, err := receipts.Export(&out, []string{paths[1], forge(t, 2)}, nil); !fault.Is(err, fault.CodeInvalidArguments) {
		t.Errorf("receipts of two chains: %v", err)
	}
	put(t, paths[1], append(slurp(t, paths[1]), '\n'))
	if _, err := receipts.Export(&out, paths, nil); !fault.Is(err, fault.CodeReceiptMismatch) {
		t.Errorf("a changed receipt: %v", err)
	}
}
