package receipts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"edge/internal/canon"
	"edge/internal/digest"
)

const (
	// StatementType says that an exported receipt is an in-toto statement, version 1.
	StatementType = "https://in-toto.io/Statement/v1"
	// PredicateType says that its predicate is a receipt.
	PredicateType = "edge:receipt/v1"
)

// statement is what an exported receipt is: the receipt as it is, and the digests of all that it speaks about. There is
// one statement for one receipt, so whoever checks one makes it anew and wants its very bytes.
type statement struct {
	Type          string          `json:"_type"`
	Subject       []subject       `json:"subject"`
	PredicateType string          `json:"predicateType"`
	Predicate     json.RawMessage `json:"predicate"`
}

// subject is one thing by its digest: the receipt's own file first, then what the body has a digest of, named by where
// it stands there.
type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// encodeStatement gives the bytes of the only statement about r, whose file's bytes are content.
func encodeStatement(r *Receipt, content []byte) ([]byte, error) {
	var body map[string]any
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return nil, err
	}
	own := subject{r.name(), map[string]string{"sha256": digest.SHA256Of(content).String()}}
	return canon.Marshal(statement{
		Type: StatementType, PredicateType: PredicateType, Predicate: content,
		Subject: append([]subject{own}, subjects("", body)...),
	})
}

// subjects finds every digest in a body, in the order of its members' names: all texts that are a SHA-256 (in a body
// each of them is named for one) and the ids of imprints.
func subjects(at string, value any) (found []subject) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if key != "want" && key != "got" { // of a mismatch: nothing that was there
				found = append(found, subjects(strings.TrimPrefix(at+"."+key, "."), value[key])...)
			}
		}
	case []any:
		for i, inner := range value {
			found = append(found, subjects(fmt.Sprintf("%s[%d]", at, i), inner)...)
		}
	case string:
		if sum, err := digest.ParseSHA256(value); err == nil {
			return []subject{{at, map[string]string{"sha256": sum.String()}}}
		}
		if _, err := digest.ParseBLAKE3(value); err == nil {
			return []subject{{at, map[string]string{"blake3": strings.TrimPrefix(value, "blake3:")}}}
		}
	}
	return found
}

// parseStatement gives the receipt of a statement whose bytes are exactly what encodeStatement gives for it.
func parseStatement(payload []byte) (content []byte, r *Receipt, err error) {
	var s statement
	if err := canon.Unmarshal(payload, &s); err != nil {
		return nil, nil, fmt.Errorf("it isn't a statement about a receipt: %w", err)
	}
	if s.Type != StatementType || s.PredicateType != PredicateType {
		return nil, nil, fmt.Errorf("its type is %.80q about %.80q, want %q about %q", s.Type, s.PredicateType, StatementType, PredicateType)
	}
	if r, err = parse(s.Predicate); err != nil {
		return nil, nil, fmt.Errorf("its receipt: %w", err)
	}
	again, err := encodeStatement(r, s.Predicate)
	if err != nil {
		return nil, nil, err
	}
	if !bytes.Equal(again, payload) {
		return nil, nil, errors.New("its subjects aren't those of its receipt, or its bytes aren't canonical JSON")
	}
	return s.Predicate, r, nil
}
