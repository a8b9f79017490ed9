package dsse_test

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"edge/internal/dsse"
	"edge/internal/fault"
)

func slurp(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestKeys(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	public, err := dsse.GenerateKey(path, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the private key: %v, %v", info.Mode(), err)
	}
	private, err := dsse.ReadPrivateKey(path)
	if err != nil || private.Public().ID() != public.ID() {
		t.Errorf("the private key is %s (%v), want %s", private.Public().ID(), err, public.ID())
	}
	again, err := dsse.ReadPublicKey(path + dsse.PublicSuffix)
	if err != nil || again.ID() != public.ID() {
		t.Errorf("the public key is %s (%v), want %s", again.ID(), err, public.ID())
	}

	// A key isn't overwritten, also where only one of both is there.
	before := slurp(t, path)
	if _, err := dsse.GenerateKey(path, rand.Reader); !fault.Is(err, fault.CodeInvalidArguments) {
		t.Errorf("again: %v", err)
	}
	if err := os.Remove(path + dsse.PublicSuffix); err != nil {
		t.Fatal(err)
	}
	if _, err := dsse.GenerateKey(path, rand.Reader); !fault.Is(err, fault.CodeInvalidArguments) || !bytes.Equal(before, slurp(t, path)) {
		t.Errorf("half: %v", err)
	}
	if _, err := dsse.GenerateKey(filepath.Join(dir, "no", "key"), rand.Reader); !fault.Is(err, fault.CodePathNotWritable) {
		t.Errorf("no folder: %v", err)
	}

	rsa := "-----BEGIN PUBLIC KEY-----\nMFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAKj34GkxFhD90vcNLYLInFEX6Ppy1tPf\n9Cnzj4p4WGeKLs1Pt8QuKUpRKfFLfRYC9AIKjbJTWit+CqvjWYzvQwECAwEAAQ==\n-----END PUBLIC KEY-----\n"
	for name, content := range map[string]string{
		"empty": "", "text": "hello", "rsa": rsa, "private": string(before), "two": string(before) + string(before), "long": strings.Repeat("\n", 20000),
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := dsse.ReadPublicKey(file); !fault.Is(err, fault.CodeInvalidArguments) || strings.Contains(err.Error(), "MC4CAQ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := dsse.ReadPrivateKey(filepath.Join(dir, "rsa")); !fault.Is(err, fault.CodeInvalidArguments) {
		t.Errorf("a public key to sign with: %v", err)
	}
	if _, err := dsse.ReadPrivateKey(filepath.Join(dir, "none")); !fault.Is(err, fault.CodeInvalidArguments) {
		t.Errorf("no file: %v", err)
	}
	if _, err := dsse.ReadPublicKey(dir); !fault.Is(err, fault.CodeInvalidArguments) {
		t.Errorf("a folder: %v", err)
	}
}
