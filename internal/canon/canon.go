// Package canon is JSON that two programs can hash alike: RFC 8785, with the gaps of that RFC closed.
//
// What is refused, before any digest is made: duplicate keys, invalid UTF-8 and lone surrogates, NaN and infinities,
// numbers that a float64 can't hold, nesting deeper than MaxDepth, and every number whose canonical text would be an
// integer beyond ±(2^53−1): such integers are rounded by some readers and not by others.
package canon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	strict "github.com/go-json-experiment/json"
	"github.com/gowebpki/jcs"
)

const (
	// MaxDepth is the deepest nesting of arrays and objects that is read.
	MaxDepth = 64
	// MaxInteger is the largest integer that every JSON reader keeps, 2^53−1.
	MaxInteger = 1<<53 - 1
)

// Transform checks one JSON value and gives its canonical form (RFC 8785).
func Transform(raw []byte) ([]byte, error) {
	if err := Check(raw); err != nil {
		return nil, err
	}
	// The library takes objects and arrays only; a scalar travels inside an array.
	wrapped := append(append([]byte{'['}, raw...), ']')
	out, err := jcs.Transform(wrapped)
	if err != nil {
		return nil, fmt.Errorf("canonical json: %w", err)
	}
	return out[1 : len(out)-1], nil
}

// Marshal gives the canonical form of v, which encoding/json must be able to write.
func Marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("canonical json: %w", err)
	}
	return Transform(buf.Bytes())
}

// Unmarshal checks raw and reads it into v: member names match exactly, and unknown ones are refused.
func Unmarshal(raw []byte, v any) error {
	if err := Check(raw); err != nil {
		return err
	}
	return strict.Unmarshal(raw, v, strict.RejectUnknownMembers(true))
}

// Check reports why raw isn't exactly one JSON value within this package's limits.
func Check(raw []byte) error {
	if !utf8.Valid(raw) {
		return errors.New("json: invalid UTF-8")
	}
	if err := checkSurrogates(raw); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := checkValue(dec, 0); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("json: more than one value")
	}
	return nil
}

func checkValue(dec *json.Decoder, depth int) error {
	tok, err := dec.Token()
	if err != nil {
		return jsonError(err)
	}
	switch tok := tok.(type) {
	case json.Number:
		return checkNumber(string(tok))
	case json.Delim:
		if depth++; depth > MaxDepth {
			return fmt.Errorf("json: nested deeper than %d", MaxDepth)
		}
		seen := map[string]bool{}
		for dec.More() {
			if tok == '{' {
				key, err := dec.Token()
				if err != nil {
					return jsonError(err)
				}
				if seen[key.(string)] {
					return fmt.Errorf("json: duplicate key %q", key)
				}
				seen[key.(string)] = true
			}
			if err := checkValue(dec, depth); err != nil {
				return err
			}
		}
		if _, err := dec.Token(); err != nil {
			return jsonError(err)
		}
	}
	return nil
}

func jsonError(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("json: %w", err)
}

func checkNumber(text string) error {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return fmt.Errorf("json: number %s is out of range", clip(text))
	}
	// From 1e21 on the canonical text has an exponent, so it is read as a float everywhere.
	if a := math.Abs(f); a > MaxInteger && a < 1e21 {
		return fmt.Errorf("json: integer %s is beyond ±(2^53−1)", clip(text))
	}
	// An integer literal is exact or refused, whatever its size.
	if !bytes.ContainsAny([]byte(text), ".eE") && math.Abs(f) > MaxInteger {
		return fmt.Errorf("json: integer %s is beyond ±(2^53−1)", clip(text))
	}
	return nil
}

func clip(text string) string {
	if len(text) > 40 {
		return text[:40] + "…"
	}
	return text
}

// checkSurrogates refuses \uD800…\uDFFF escapes that aren't a pair: encoding/json replaces them in silence.
func checkSurrogates(raw []byte) error {
	inString := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			inString = !inString
		case inString && c == '\\':
			u, ok := unicodeEscape(raw[i:])
			switch {
			case !ok:
				i++ // a two-byte escape; malformed ones are the decoder's to refuse
			case u >= 0xD800 && u < 0xDC00:
				low, ok := unicodeEscape(raw[i+6:])
				if !ok || low < 0xDC00 || low > 0xDFFF {
					return errors.New("json: lone surrogate")
				}
				i += 11
			case u >= 0xDC00 && u <= 0xDFFF:
				return errors.New("json: lone surrogate")
			default:
				i += 5
			}
		}
	}
	return nil
}

func unicodeEscape(b []byte) (uint64, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	u, err := strconv.ParseUint(string(b[2:6]), 16, 32)
	return u, err == nil
}
