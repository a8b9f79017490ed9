// Package dsse signs payloads and checks signatures, in the envelopes of the DSSE protocol (version 1) and with Ed25519.
//
// Its invariant: a payload comes out of Open only under a signature of a trusted key, over the very bytes that it gives;
// nothing is encoded again to be checked. It refuses envelopes that aren't exactly one JSON value, keys of another kind,
// and to overwrite a key.
package dsse

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"edge/internal/canon"
)

const (
	// InToto is the type of a payload that is an in-toto statement.
	InToto = "application/vnd.in-toto+json"
	// maxSignatures is how many signatures of one envelope are looked at.
	maxSignatures = 64
)

// Envelope is a DSSE envelope. Its payload and its signatures are in base64, of either alphabet.
type Envelope struct {
	PayloadType string      `json:"payloadType"`
	Payload     string      `json:"payload"`
	Signatures  []Signature `json:"signatures"`
}

// Signature is one of an envelope's. KeyID is a hint, and nothing depends on it but messages.
type Signature struct {
	KeyID string `json:"keyid"`
	Sig   string `json:"sig"`
}

// Sign gives the envelope of payload, in canonical JSON. Ed25519 has no randomness, so signing twice gives the same
// bytes.
func Sign(key PrivateKey, payloadType string, payload []byte) ([]byte, error) {
	return canon.Marshal(Envelope{
		PayloadType: payloadType,
		Payload:     base64.StdEncoding.EncodeToString(payload),
		Signatures: []Signature{{
			KeyID: key.public.id.String(),
			Sig:   base64.StdEncoding.EncodeToString(ed25519.Sign(key.key, authenticated(payloadType, payload))),
		}},
	})
}

// ErrUntrusted says that an envelope has nothing of a trusted key.
var ErrUntrusted = errors.New("none of the trusted keys has signed it")

// Parse reads an envelope. What it says is not to be believed yet.
func Parse(raw []byte) (Envelope, error) {
	var e Envelope
	if err := canon.Check(raw); err != nil {
		return e, fmt.Errorf("its envelope isn't one: %w", err)
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return e, fmt.Errorf("its envelope isn't one: %w", err)
	}
	return e, nil
}

// Unchecked gives the payload without looking at any signature.
func (e Envelope) Unchecked() ([]byte, error) {
	payload, err := decodeBase64(e.Payload)
	if err != nil {
		return nil, fmt.Errorf("its payload: %w", err)
	}
	return payload, nil
}

// Open gives the payload, and the first trusted key that has signed it as one of payloadType. The error is ErrUntrusted,
// or says what is wrong with a signature that says that it is of a trusted key.
func (e Envelope) Open(payloadType string, trusted []PublicKey) ([]byte, PublicKey, error) {
	if e.PayloadType != payloadType {
		return nil, PublicKey{}, ErrUntrusted
	}
	payload, err := e.Unchecked()
	if err != nil {
		return nil, PublicKey{}, err
	}
	result := ErrUntrusted
	for _, s := range e.Signatures[:min(len(e.Signatures), maxSignatures)] {
		sig, err := decodeBase64(s.Sig)
		for _, key := range trusted {
			switch {
			case err == nil && ed25519.Verify(key.key, authenticated(e.PayloadType, payload), sig):
				return payload, key, nil
			case s.KeyID == key.id.String():
				result = fmt.Errorf("it isn't a signature of key %s, though it says so", key.id)
			}
		}
	}
	return nil, PublicKey{}, result
}

// authenticated is DSSE's pre-authentication encoding: what the signature is of.
func authenticated(kind string, payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(kind), kind, len(payload), payload)
}

// decodeBase64 takes both alphabets, as DSSE wants.
func decodeBase64(text string) ([]byte, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		raw, err = base64.URLEncoding.DecodeString(text)
	}
	return raw, err
}
