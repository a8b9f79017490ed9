package oci_test

import (
	"strings"
	"testing"

	"edge/imprint/oci"
	"edge/internal/fault"
)

func TestTargets(t *testing.T) {
	hex := strings.Repeat("0a", 32)
	for _, test := range []struct {
		text   string
		remote bool
	}{
		{"oci:folder:v1", false},
		{"oci:/some/folder:v1.2-3_4", false},
		{"oci:../a folder/x:home", false},
		{"oci:a:b/c:v1", false},
		{"oci:me@home:v1", false},
		{"oci:me@home/x:v1", false},
		{"oci:folder@sha256:" + hex, false},
		{"registry.invalid/x:v1", true},
		{"registry.invalid:5000/team/x:v1", true},
		{"registry.invalid/x@sha256:" + hex, true},
		{"registry.invalid/x:v1@sha256:" + hex, true},
		{"localhost/x:v1", true},
		{"localhost:5000/x:v1", true},
		{"127.0.0.1:5000/x:v1", true},
		{"[::1]:5000/x:v1", true},
	} {
		got, err := oci.ParseTarget(test.text)
		if err != nil || got.Remote() != test.remote || got.String() != test.text {
			t.Errorf("%s: got %s, remote %t, %v", test.text, got, got.Remote(), err)
		}
	}
	for _, text := range []string{
		"", "oci:", "oci:folder", "oci::v1", "oci:folder:", "oci:folder:v 1", "oci:folder:-v", "oci:folder:" + strings.Repeat("v", 129), "oci:folder@sha256:" + hex[1:],
		"oci:folder@sha256:" + strings.ToUpper(hex), "x:v1", "team/x:v1", "registry.invalid/x", "registry.invalid/X:v1", "registry.invalid/x:v/1", "registry.invalid:v1",
		"registry.invalid/:v1", "https://registry.invalid/x:v1", "registry.invalid/../x:v1", "registry.invalid/x?y:v1", "registry.invalid/x@sha512:" + hex + hex,
		"user@registry.invalid/x:v1",
	} {
		if got, err := oci.ParseTarget(text); !fault.Is(err, fault.CodeInvalidArguments) {
			t.Errorf("%q: got %s, %v", text, got, err)
		}
	}
}

func TestOnlyThisMachineIsSpokenToInTheClear(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "localhost:5000": true, "127.0.0.1": true, "127.0.0.1:80": true, "127.9.9.9:80": true, "[::1]:80": true, "[::1]": true,
		"registry.invalid": false, "localhost.invalid": false, "127.0.0.1.invalid:80": false, "10.0.0.1:80": false, "[::2]:80": false, "0.0.0.0:80": false, "": false,
		"localhost@registry.invalid": false,
	} {
		if got := oci.Loopback(host); got != want {
			t.Errorf("%q: got %t", host, got)
		}
	}
}
