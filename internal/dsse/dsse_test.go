package dsse_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"edge/internal/dsse"
)

// pae is the pre-authentication encoding, written from the protocol's page and not from this package:
// "DSSEv1" + SP + LEN(type) + SP + type + SP + LEN(body) + SP + body, lengths in bytes and in ASCII decimals.
func pae(kind, body string) []byte {
	return []byte(strings.Join([]string{"DSSEv1", strconv.Itoa(len(kind)), kind, strconv.Itoa(len(body)), body}, " "))
}

func number(t *testing.T, text string) *big.Int {
	t.Helper()
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		t.Fatalf("%q is no number", text)
	}
	return n
}

func newKey(t *testing.T) (dsse.PrivateKey, dsse.PublicKey, string) {
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
	return private, public, path
}

// The test vector of the DSSE protocol's document ("hello world", ECDSA over P-256) holds for pae, and a signature of
// this package holds for pae too: so what is signed here is what the protocol says.
func TestTheProtocolsVector(t *testing.T) {
	const kind, body = "http://example.com/HelloWorld", "hello world"
	if got, want := string(pae(kind, body)), "DSSEv1 29 http://example.com/HelloWorld 11 hello world"; got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
	theirs := ecdsa.PublicKey{
		Curve: elliptic.P256(),
		X:     number(t, "46950820868899156662930047687818585632848591499744589407958293238635476079160"),
		Y:     number(t, "5640078356564379163099075877009565129882514886557779369047442380624545832820"),
	}
	sig, err := base64.StdEncoding.DecodeString("A3JqsQGtVsJ2O2xqrI5IcnXip5GToJ3F+FnZ+O88SjtR6rDAajabZKciJTfUiHqJPcIAriEGAHTVeCUjW2JIZA==")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(pae(kind, body))
	if !ecdsa.Verify(&theirs, sum[:], new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:])) {
		t.Error("the document's signature doesn't hold for this encoding")
	}

	private, public, path := newKey(t)
	raw, err := dsse.Sign(private, kind, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	var e struct {
		PayloadType string
		Payload     []byte
		Signatures  []struct {
			KeyID string
			Sig   []byte
		}
	}
	if err := json.Unmarshal(raw, &e); err != nil || e.PayloadType != kind || string(e.Payload) != body || len(e.Signatures) != 1 {
		t.Fatalf("got %s (%v)", raw, err)
	}
	block, _ := pem.Decode(slurp(t, path+dsse.PublicSuffix))
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if !ed25519.Verify(key.(ed25519.PublicKey), pae(kind, body), e.Signatures[0].Sig) || e.Signatures[0].KeyID != public.ID().String() {
		t.Errorf("%s isn't a signature of what the protocol says, by key %s", raw, public.ID())
	}
}

func TestOpen(t *testing.T) {
	alice, alicePublic, _ := newKey(t)
	_, bobPublic, _ := newKey(t)
	good, err := dsse.Sign(alice, dsse.InToto, []byte("what she said"))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := dsse.Sign(alice, dsse.InToto, []byte("what she said")); err != nil || !bytes.Equal(again, good) {
		t.Errorf("signed twice: %s and %s (%v)", good, again, err)
	}
	open := func(raw []byte, kind string, trusted ...dsse.PublicKey) (string, dsse.PublicKey, error) {
		e, err := dsse.Parse(raw)
		if err != nil {
			return "", dsse.PublicKey{}, err
		}
		payload, key, err := e.Open(kind, trusted)
		return string(payload), key, err
	}
	if payload, key, err := open(good, dsse.InToto, bobPublic, alicePublic); err != nil || payload != "what she said" || key.ID() != alicePublic.ID() {
		t.Errorf("got %q by %s, %v", payload, key.ID(), err)
	}
	if _, _, err := open(good, dsse.InToto, bobPublic); !errors.Is(err, dsse.ErrUntrusted) {
		t.Errorf("another key is trusted: %v", err)
	}
	if _, _, err := open(good, dsse.InToto); !errors.Is(err, dsse.ErrUntrusted) {
		t.Errorf("no key is trusted: %v", err)
	}
	if _, _, err := open(good, "text/plain", alicePublic); !errors.Is(err, dsse.ErrUntrusted) {
		t.Errorf("another type is wanted: %v", err)
	}
	for name, change := range map[string][2]string{
		"another payload":    {base64.StdEncoding.EncodeToString([]byte("what she said")), base64.StdEncoding.EncodeToString([]byte("what he said!"))},
		"no base64":          {base64.StdEncoding.EncodeToString([]byte("what she said")), "%%"},
		"a member twice":     {`{"payload":`, `{"payload":"","payload":`},
		"something behind":   {`}]}`, `}]} x`},
		"no envelope":        {`{"payload":`, `[{"payload":`},
		"half a signature":   {`"sig":"`, `"sig":"AAAA`},
		"signatures no list": {`"signatures":[`, `"signatures":7,"x":[`},
	} {
		raw := bytes.Replace(good, []byte(change[0]), []byte(change[1]), 1)
		if payload, _, err := open(raw, dsse.InToto, alicePublic); err == nil || errors.Is(err, dsse.ErrUntrusted) || payload != "" {
			t.Errorf("%s: got %q, %v", name, payload, err)
		}
	}
}
