package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sharer runs command lines with a state of their own.
type sharer struct {
	t    *testing.T
	home string
}

// run gives the exit status and the one object that was printed.
func (s sharer) run(args ...string) (int, map[string]any) {
	s.t.Helper()
	var out, errs bytes.Buffer
	status := execute(s.t.Context(), newApp(append(args, "--json"), strings.NewReader(""), &out, &errs, []string{"EDGE_HOME=" + s.home, "HOME=" + s.home}))
	var object map[string]any
	if err := json.Unmarshal(out.Bytes(), &object); err != nil {
		s.t.Fatalf("%v: %v: %q, %q", args, err, out.String(), errs.String())
	}
	return status, object
}

func TestSharing(t *testing.T) {
	s := sharer{t, t.TempDir()}
	dir := t.TempDir()
	example := filepath.Join("..", "..", "testdata", "vectors", "imprint-v1", "minimal.imprint")
	const id = "blake3:4297a0b7e0ab0a3188c8ff96e2726c51244dba3db0db5e4d29cc2fdc267199f7"
	place := "oci:" + filepath.Join(dir, "layout") + ":home"
	key := filepath.Join(dir, "key")

	status, made := s.run("imprint", "keygen", key)
	if status != 0 || made["schema"] != "edge.imprint_keygen/v1" || made["public_path"] != key+".pub" {
		t.Fatalf("keygen: %d, %v", status, made)
	}
	status, pushed := s.run("imprint", "push", example, place)
	if status != 0 || pushed["schema"] != "edge.imprint_push/v1" || pushed["ok"] != true || pushed["id"] != id || pushed["reference"] != place || pushed["signer_sha256"] != nil {
		t.Fatalf("push: %d, %v", status, pushed)
	}
	if status, refused := s.run("imprint", "pull", place, "--trust", key+".pub"); status != 3 || code(refused) != "imprint_signature_missing" || refused["receipt_path"] == nil {
		t.Errorf("unsigned, a key wanted: %d, %v", status, refused)
	}
	if status, signed := s.run("imprint", "push", example, place, "--sign", key); status != 0 || signed["signer_sha256"] != made["key_sha256"] || signed["digest"] != pushed["digest"] {
		t.Errorf("push with a signature: %d, %v", status, signed)
	}
	status, pulled := s.run("imprint", "pull", place, "--trust", key+".pub")
	if status != 0 || pulled["schema"] != "edge.imprint_pull/v1" || pulled["id"] != id || pulled["reference"] != place || pulled["present"] != false ||
		pulled["signer_sha256"] != made["key_sha256"] || pulled["digest"] != pushed["digest"] {
		t.Errorf("pull: %d, %v", status, pulled)
	}
	if _, err := os.Stat(pulled["path"].(string)); err != nil {
		t.Error(err)
	}
	if status, shown := s.run("imprint", "verify", id); status != 0 {
		t.Errorf("verify: %d, %v", status, shown)
	}
	// A folder is the user's own disk: no key is needed.
	if status, pulled := s.run("imprint", "pull", place); status != 0 || pulled["present"] != true {
		t.Errorf("pull again: %d, %v", status, pulled)
	}

	for _, test := range []struct {
		args   []string
		status int
		code   string
	}{
		{[]string{"pull", place, "--trust", key + ".pub", "--trust-unsigned"}, 3, "invalid_arguments"},
		{[]string{"pull", place, "--trust", key}, 3, "invalid_arguments"},
		{[]string{"pull", "home"}, 3, "invalid_arguments"},
		{[]string{"pull", place + "2"}, 10, "imprint_not_found"},
		{[]string{"pull", "127.0.0.1:1/x:v1", "--trust-unsigned"}, 10, "download_failed"},
		{[]string{"push", example, "127.0.0.1:1/x:v1"}, 10, "upload_failed"},
		{[]string{"push", example, place, "--sign", key + ".pub"}, 3, "invalid_arguments"},
		{[]string{"push", "blake3:" + strings.Repeat("0", 64), place}, 10, "imprint_not_found"},
		{[]string{"keygen", key}, 3, "invalid_arguments"},
	} {
		status, object := s.run(append([]string{"imprint"}, test.args...)...)
		if status != test.status || code(object) != test.code {
			t.Errorf("%v: %d, %v, want %d with %s", test.args, status, object, test.status, test.code)
		}
	}
	if status, chain := s.run("receipts", "verify"); status != 0 {
		t.Errorf("receipts: %d, %v", status, chain)
	}
}

func code(object map[string]any) any {
	failure, _ := object["error"].(map[string]any)
	return failure["code"]
}
