package served

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"edge/inference"
	"edge/internal/digest"
	"edge/internal/sealed"
)

// stateFormat is the version of a state's bytes.
const stateFormat = "edge.prefix_replay/v1"

// stateHead is the first line of a state; the text follows it.
type stateHead struct {
	Format string `json:"format"`
	Tokens int    `json:"tokens"`
	Bytes  int    `json:"bytes"` // of the text
	Slot   *Slot  `json:"slot"`  // nil: the text is all there is
}

// Slot is a computed state that a server keeps in a file of its own.
type Slot struct {
	File   string        `json:"file"` // its name in the server's folder
	Bytes  int64         `json:"bytes"`
	SHA256 digest.SHA256 `json:"sha256"`
	Tokens int           `json:"tokens"` // of the server's, not of edge's
}

// encodeState writes the rendered prefix: a byte for each byte, and bytes that no text has for the marks.
func encodeState(tokens []inference.Token, slot *Slot) ([]byte, error) {
	text := make([]byte, len(tokens))
	for i, t := range tokens {
		if t >= 256 {
			t += firstNonText - 256
		}
		text[i] = byte(t)
	}
	head, err := json.Marshal(stateHead{stateFormat, len(tokens), len(text), slot})
	if err != nil {
		return nil, err
	}
	return append(append(head, '\n'), text...), nil
}

// decodeState reads a state of one layer.
func decodeState(s sealed.State) ([]inference.Token, *Slot, error) {
	if len(s.Layers()) != 1 {
		return nil, nil, fmt.Errorf("%d layers, and a text has one", len(s.Layers()))
	}
	line, text, ok := bytes.Cut(s.Bytes(), []byte("\n"))
	var head stateHead
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if !ok || dec.Decode(&head) != nil || head.Format != stateFormat {
		return nil, nil, fmt.Errorf("it isn't of the form %s", stateFormat)
	}
	if head.Bytes != len(text) || head.Tokens != len(text) || s.Tokens() != len(text) || len(text) == 0 {
		return nil, nil, fmt.Errorf("a text of %d bytes, declared %d, for %d tokens", len(text), head.Bytes, s.Tokens())
	}
	tokens := make([]inference.Token, len(text))
	for i, b := range text {
		tokens[i] = inference.Token(b)
		if b >= firstNonText {
			tokens[i] += 256 - firstNonText
		}
		if !known(tokens[i]) {
			return nil, nil, fmt.Errorf("byte %d is none of a text", i)
		}
	}
	return tokens, head.Slot, nil
}

// prefixDigest is SHA-256 of the tokens as 32-bit little-endian numbers, one after the other.
func prefixDigest(tokens []inference.Token) string {
	raw := make([]byte, 0, 4*len(tokens))
	for _, t := range tokens {
		raw = binary.LittleEndian.AppendUint32(raw, uint32(t))
	}
	return digest.SHA256Of(raw).String()
}

// known reports whether a token can stand in a conversation.
func known(t inference.Token) bool {
	return t > 0 && t < firstNonText || t >= markSystem && t < vocabulary
}
