package main

import (
	"io"
	"unicode/utf8"

	"edge/tools"
)

// toolOutput passes on what tools print to a terminal, with everything escaped that could do more there than break and
// fill lines: a tools file is run to be looked at, and must not hide or forge what edge shows before and after.
type toolOutput struct {
	w    io.Writer
	rest []byte // the beginning of a character whose end hasn't come
}

func (o *toolOutput) Write(p []byte) (int, error) {
	text := append(o.rest, p...)
	var safe []byte
	for len(text) > 0 && (utf8.FullRune(text) || len(text) >= utf8.UTFMax) {
		_, size := utf8.DecodeRune(text)
		switch text[0] {
		case '\n', '\r', '\t':
			safe = append(safe, text[0])
		default:
			safe = append(safe, tools.EscapeForDisplay(string(text[:size]))...)
		}
		text = text[size:]
	}
	o.rest = append([]byte(nil), text...)
	if _, err := o.w.Write(safe); err != nil {
		return 0, err
	}
	return len(p), nil
}
