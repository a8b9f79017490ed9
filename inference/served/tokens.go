// Package served is what adapters to model servers share: a session whose tokens are bytes, and the marks of messages.
//
// A server keeps tokens, template and state to itself. So the port's tokens are edge's own here: one for each byte of a
// text, and one for each mark that begins or ends a message. Templates, prefixes, the gate and the conversation stay as
// they are; a state is the text of the tokens; and a reply is asked for with the messages that the tokens spell.
//
// The invariant it owns: what is sent is what the session's tokens say, with nothing in it that a server could take for the
// end of a message, and a session that was cut off, refused or
// left half done is closed. What it refuses: bytes that aren't text, and a state that isn't of its own form.
package served

import (
	"strings"
	"unicode/utf8"

	"edge/inference"
	"edge/internal/fault"
)

// The marks' ids follow the bytes.
const (
	markSystem inference.Token = 256 + iota
	markUser
	markAssistant
	markEnd
	vocabulary = 256 + iota
)

// firstNonText is the first byte that no UTF-8 text has. A mark is written as a byte from here on where tokens become text.
const firstNonText = 0xF8

// Format is the version of the tokens, the marks and the template: another one makes other prefixes.
const Format = "edge.served_bytes/1"

// template writes the marks around the messages.
const template = "{% for m in messages %}{{ '<|edge:' + m.role + '|>' }}{{ m.content }}<|edge:end|>{% endfor %}" +
	"{% if add_generation_prompt %}<|edge:assistant|>{% endif %}"

func marks() []string {
	return []string{"<|edge:system|>", "<|edge:user|>", "<|edge:assistant|>", "<|edge:end|>"}
}

// tokenizer is the Tokenizer part of a model.
type tokenizer struct{}

// Tokenize implements inference.Tokenizer.
func (tokenizer) Tokenize(text string, special bool) ([]inference.Token, error) {
	switch i := strings.IndexByte(text, 0); {
	case i >= 0:
		return nil, fault.New(fault.CodeInvalidArguments, "the text holds a NUL character, at byte %d", i)
	case !utf8.ValidString(text):
		return nil, fault.New(fault.CodeInvalidArguments, "the text isn't UTF-8")
	}
	out := make([]inference.Token, 0, len(text))
	for special && text != "" {
		at, mark := len(text), -1
		for i, m := range marks() {
			if j := strings.Index(text, m); j >= 0 && j < at {
				at, mark = j, i
			}
		}
		if mark < 0 {
			break
		}
		out = append(plain(out, text[:at]), markSystem+inference.Token(mark))
		text = text[at+len(marks()[mark]):]
	}
	return plain(out, text), nil
}

func plain(out []inference.Token, text string) []inference.Token {
	for i := range len(text) {
		out = append(out, inference.Token(text[i]))
	}
	return out
}

// Piece implements inference.Tokenizer.
func (tokenizer) Piece(t inference.Token) []byte {
	if t < 0 || t >= 256 {
		return nil
	}
	return []byte{byte(t)}
}

// IsEnd implements inference.Tokenizer.
func (tokenizer) IsEnd(t inference.Token) bool { return t == markEnd }

// Message is one turn of a conversation, as servers take it.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// conversation spells tokens as messages. The last one is left open where the assistant has yet to speak; it isn't listed
// while it is empty.
func conversation(tokens []inference.Token) ([]Message, error) {
	list, role, text, err := spell(tokens)
	if err == nil && (role != "assistant" || len(text) > 0) {
		err = fault.New(fault.CodeInternal, "the conversation doesn't end where the assistant begins")
	}
	for i := range list {
		list[i].Content = asText(list[i].Content)
	}
	return list, err
}

// spell gives the messages that are closed, and the one that isn't.
func spell(tokens []inference.Token) (list []Message, role string, text []byte, err error) {
	for i, t := range tokens {
		switch {
		case t < 256 && role == "":
			return nil, "", nil, fault.New(fault.CodeInternal, "the text at token %d belongs to no message", i)
		case t < 256:
			text = append(text, byte(t))
		case t == markEnd && role != "":
			list = append(list, Message{role, string(text)})
			role, text = "", nil
		case t == markEnd || role != "":
			return nil, "", nil, fault.New(fault.CodeInternal, "the mark at token %d is out of order", i)
		default:
			role = []string{"system", "user", "assistant"}[t-markSystem]
		}
	}
	return list, role, text, nil
}
