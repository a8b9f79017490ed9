package fake

import (
	"strings"

	"edge/inference"
	"edge/internal/fault"
)

// The special tokens; bytes and words follow.
const (
	tokenBOS inference.Token = iota
	tokenTurnStart
	tokenTurnEnd
	tokenTextEnd
	firstByte
	firstWord = firstByte + 256
)

// The texts of the special tokens.
const (
	BOSText       = "<|bos|>"
	TurnStartText = "<|im_start|>"
	TurnEndText   = "<|im_end|>"
	TextEndText   = "<|endoftext|>"
)

func specials() []string { return []string{BOSText, TurnStartText, TurnEndText, TextEndText} }

// words are tokens of several bytes. Some of them meet across the place where a prompt is put together (line ends,
// blanks, quotes), so that the tokens of two texts aren't those of their concatenation.
func words() []string {
	return strings.Split(" |\n|\n\n|.\n\n|. |: |, |  |    |\"|{\"|\"}|\":|\":\"|\",\"|\"}}|{|}|[|]|system|user|assistant|"+
		" the| a| of| to| and| is| for| in| you| it|The|You|tool_name|arguments|{\"tool_name\":\"|\",\"arguments\":{|"+
		"name|description|parameters|string|number|type|true|false|null|ing|tion|er|re|th|日本|😀|é", "|")
}

// tokenizer cuts text into the longest words it knows, else bytes: every text comes back as it was.
type tokenizer struct {
	pieces  [][]byte // nil for special tokens
	ids     map[string]inference.Token
	longest int
}

func newTokenizer() *tokenizer {
	t := &tokenizer{pieces: make([][]byte, firstByte), ids: map[string]inference.Token{}}
	for b := range 256 {
		t.add(string([]byte{byte(b)}))
	}
	for _, w := range words() {
		if _, known := t.ids[w]; !known {
			t.add(w)
		}
	}
	return t
}

func (t *tokenizer) add(text string) {
	t.ids[text] = inference.Token(len(t.pieces))
	t.pieces = append(t.pieces, []byte(text))
	t.longest = max(t.longest, len(text))
}

// tokenize implements inference.Tokenizer.
func (t *tokenizer) tokenize(text string, special bool) ([]inference.Token, error) {
	if i := strings.IndexByte(text, 0); i >= 0 {
		return nil, fault.New(fault.CodeInvalidArguments, "the text holds a NUL character, at byte %d", i)
	}
	var out []inference.Token
	for special && text != "" {
		at, id := len(text), inference.Token(-1)
		for i, s := range specials() {
			if j := strings.Index(text, s); j >= 0 && j < at {
				at, id = j, inference.Token(i)
			}
		}
		out = t.plain(out, text[:at])
		if id < 0 {
			return out, nil
		}
		out = append(out, id)
		text = text[at+len(specials()[id]):]
	}
	return t.plain(out, text), nil
}

func (t *tokenizer) plain(out []inference.Token, text string) []inference.Token {
	for text != "" {
		n := min(t.longest, len(text))
		for ; n > 1; n-- {
			if _, ok := t.ids[text[:n]]; ok {
				break
			}
		}
		out = append(out, t.ids[text[:n]])
		text = text[n:]
	}
	return out
}

// piece implements inference.Tokenizer.
func (t *tokenizer) piece(token inference.Token) []byte {
	if token < 0 || int(token) >= len(t.pieces) || t.pieces[token] == nil {
		return nil
	}
	return append([]byte(nil), t.pieces[token]...)
}

func isEnd(token inference.Token) bool { return token == tokenTurnEnd || token == tokenTextEnd }

func isSpecial(token inference.Token) bool { return token < firstByte }
