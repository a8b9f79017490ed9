package oci_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edge/imprint/oci"
	"edge/internal/dsse"
	"edge/internal/fault"
)

func TestTrust(t *testing.T) {
	alice, alicePublic := newKey(t)
	bob, bobPublic := newKey(t)
	_, mallory := newKey(t)
	keys := func(list ...dsse.PublicKey) oci.PullOptions { return oci.PullOptions{Trust: list} }
	for _, test := range []struct {
		name    string
		signers []*dsse.PrivateKey
		opt     oci.PullOptions
		// folder and registry are the codes, "" where it is taken; signer is who vouched then.
		folder, registry fault.Code
		signer           dsse.PublicKey
	}{
		{"unsigned, nothing said", []*dsse.PrivateKey{nil}, oci.PullOptions{}, "", fault.CodeImprintSignatureMissing, dsse.PublicKey{}},
		{"unsigned, taken so", []*dsse.PrivateKey{nil}, unsigned(), "", "", dsse.PublicKey{}},
		{"unsigned, a key wanted", []*dsse.PrivateKey{nil}, keys(alicePublic), fault.CodeImprintSignatureMissing, fault.CodeImprintSignatureMissing, dsse.PublicKey{}},
		{"signed, nothing said", []*dsse.PrivateKey{&alice}, oci.PullOptions{}, "", fault.CodeImprintSignatureMissing, dsse.PublicKey{}},
		{"signed, its key wanted", []*dsse.PrivateKey{&alice}, keys(alicePublic), "", "", alicePublic},
		{"signed, one of several wanted", []*dsse.PrivateKey{&bob}, keys(mallory, alicePublic, bobPublic), "", "", bobPublic},
		{"signed, another key wanted", []*dsse.PrivateKey{&alice}, keys(bobPublic), fault.CodeImprintSignatureMissing, fault.CodeImprintSignatureMissing, dsse.PublicKey{}},
		{"signed twice, the second wanted", []*dsse.PrivateKey{&alice, &bob}, keys(bobPublic), "", "", bobPublic},
		{"signed twice, the first wanted", []*dsse.PrivateKey{&alice, &bob}, keys(alicePublic), "", "", alicePublic},
		{"signed, then pushed without", []*dsse.PrivateKey{&alice, nil}, keys(alicePublic), "", "", alicePublic},
		{"both said", []*dsse.PrivateKey{&alice}, oci.PullOptions{Trust: []dsse.PublicKey{alicePublic}, TrustUnsigned: true}, fault.CodeInvalidArguments, fault.CodeInvalidArguments, dsse.PublicKey{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := makeImprint(t, 1)
			for name, place := range places(t) {
				for _, key := range test.signers {
					push(t, m, place+":v1", oci.PushOptions{Sign: key})
				}
				want := test.registry
				if name == "folder" {
					want = test.folder
				}
				s := newStore(t)
				got, err := pull(t, s, place+":v1", test.opt)
				if want != "" {
					wantRefused(t, s, err, want)
					continue
				}
				wantHere(t, s, m, got, err)
				if got.Signer != test.signer.ID() {
					t.Errorf("%s: signed by %s, want %s", name, got.Signer, test.signer.ID())
				}
			}
		})
	}
}

// layoutOf pushes an imprint to a new folder, signed, and gives the folder and the path of the signature's envelope.
func layoutOf(t *testing.T, m made, key dsse.PrivateKey) (dir, envelope string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "layout")
	push(t, m, "oci:"+dir+":v1", oci.PushOptions{Sign: &key})
	entries, err := os.ReadDir(filepath.Join(dir, "blobs", "sha256"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, "blobs", "sha256", e.Name())
		if bytes.Contains(slurp(t, path), []byte(`"payloadType"`)) {
			return dir, path
		}
	}
	t.Fatal("there is no envelope")
	return "", ""
}

// replaceSignature puts another envelope where the signature's was, with manifest and index fitted to it: what somebody
// can do who may write to the repository and has no key.
func replaceSignature(t *testing.T, dir, old string, envelope []byte) {
	t.Helper()
	swap := func(raw []byte, old, content []byte) []byte {
		raw = bytes.ReplaceAll(raw, []byte(sha(string(old)).String()), []byte(sha(string(content)).String()))
		var doc any
		if err := json.Unmarshal(raw, &doc); err != nil {
			t.Fatal(err)
		}
		fit(doc, "sha256:"+sha(string(content)).String(), len(content))
		out, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	was := slurp(t, old)
	spit(t, blob(dir, sha(string(envelope)).String()), envelope)
	entries, err := os.ReadDir(filepath.Join(dir, "blobs", "sha256"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, "blobs", "sha256", e.Name())
		manifest := slurp(t, path)
		if !bytes.Contains(manifest, []byte(sha(string(was)).String())) || bytes.Contains(manifest, []byte("payloadType")) {
			continue
		}
		changed := swap(manifest, was, envelope)
		spit(t, blob(dir, sha(string(changed)).String()), changed)
		index := filepath.Join(dir, "index.json")
		spit(t, index, swap(slurp(t, index), manifest, changed))
	}
}

// fit gives every descriptor of that digest that size.
func fit(doc any, digest string, size int) {
	switch doc := doc.(type) {
	case map[string]any:
		if doc["digest"] == digest {
			doc["size"] = size
		}
		for _, value := range doc {
			fit(value, digest, size)
		}
	case []any:
		for _, value := range doc {
			fit(value, digest, size)
		}
	}
}

func TestForgedSignatures(t *testing.T) {
	private, public := newKey(t)
	other, _ := newKey(t)
	a, b := makeImprint(t, 1), makeImprint(t, 2)
	_, path := layoutOf(t, a, private)
	good := slurp(t, path)
	_, path = layoutOf(t, b, private)
	ofAnother := slurp(t, path)
	_, path = layoutOf(t, a, other)
	byAnother := slurp(t, path)

	edit := func(raw []byte, change func(e map[string]any)) []byte {
		var e map[string]any
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatal(err)
		}
		change(e)
		out, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	first := func(e map[string]any) map[string]any { return e["signatures"].([]any)[0].(map[string]any) }
	for _, test := range []struct {
		name     string
		envelope []byte
		want     fault.Code
	}{
		{"the good one", good, ""},
		{"base64 for addresses", edit(good, func(e map[string]any) {
			e["payload"] = strings.NewReplacer("+", "-", "/", "_").Replace(e["payload"].(string))
			first(e)["sig"] = strings.NewReplacer("+", "-", "/", "_").Replace(first(e)["sig"].(string))
		}), ""},
		{"without a key's name", edit(good, func(e map[string]any) { delete(first(e), "keyid") }), ""},
		{"of another imprint", ofAnother, fault.CodeImprintSignatureInvalid},
		{"by another key", byAnother, fault.CodeImprintSignatureMissing},
		{"by another key under this one's name", edit(byAnother, func(e map[string]any) { first(e)["keyid"] = public.ID().String() }), fault.CodeImprintSignatureInvalid},
		{"another payload under the signature", edit(good, func(e map[string]any) {
			e["payload"] = base64.StdEncoding.EncodeToString([]byte(`{}`))
		}), fault.CodeImprintSignatureInvalid},
		{"another type of payload", edit(good, func(e map[string]any) { e["payloadType"] = "text/plain" }), fault.CodeImprintSignatureMissing},
		{"no signatures", edit(good, func(e map[string]any) { e["signatures"] = []any{} }), fault.CodeImprintSignatureMissing},
		{"half a signature", edit(good, func(e map[string]any) { first(e)["sig"] = first(e)["sig"].(string)[:40] }), fault.CodeImprintSignatureInvalid},
		{"not an envelope", []byte(`"payloadType"`), fault.CodeImprintSignatureInvalid},
		{"a member twice", bytes.Replace(good, []byte(`{"payload":`), []byte(`{"payload":"","payload":`), 1), fault.CodeImprintSignatureInvalid},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir, old := layoutOf(t, a, private)
			replaceSignature(t, dir, old, test.envelope)
			s := newStore(t)
			got, err := pull(t, s, "oci:"+dir+":v1", oci.PullOptions{Trust: []dsse.PublicKey{public}})
			if test.want == "" {
				wantHere(t, s, a, got, err)
				return
			}
			wantRefused(t, s, err, test.want)

			// Whoever adds a bad one to a good one can't keep anybody from the imprint.
			push(t, a, "oci:"+dir+":v1", oci.PushOptions{Sign: &private})
			got, err = pull(t, s, "oci:"+dir+":v1", oci.PullOptions{Trust: []dsse.PublicKey{public}})
			wantHere(t, s, a, got, err)
		})
	}
}

// The bytes that are signed are documented, so that others can check and make signatures.
func TestTheStatement(t *testing.T) {
	private, _ := newKey(t)
	m := made{path: filepath.Join("..", "..", "testdata", "vectors", "imprint-v1", "minimal.imprint")}
	_, path := layoutOf(t, m, private)
	var e struct{ Payload []byte }
	if err := json.Unmarshal(slurp(t, path), &e); err != nil {
		t.Fatal(err)
	}
	const want = `{"_type":"https://in-toto.io/Statement/v1","predicate":{"file_bytes":8292,` +
		`"id":"blake3:4297a0b7e0ab0a3188c8ff96e2726c51244dba3db0db5e4d29cc2fdc267199f7"},` +
		`"predicateType":"edge:imprint-signature/v1","subject":[` +
		`{"digest":{"sha256":"93a290d3dd6abb070ac79abb20c51017392776b20751deee0045f0c1e3d4ae02"},"name":"file"},` +
		`{"digest":{"sha256":"0ae0b98bbd00e3ece404a1cf5f5827f6cd4914820b0df65e09ccbbb11fb74ed3"},"name":"config"}]}`
	if string(e.Payload) != want {
		t.Errorf("got  %s\nwant %s", e.Payload, want)
	}
}
