package enginetest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"edge/inference"
	"edge/internal/fault"
)

// texts are what users, tools and files can hold.
func texts() []string {
	return []string{
		"a",
		" ",
		"The fee is 0.75.",
		"  two blanks, \t a tab,\n\n\nthree line ends\r\n and blanks at the end  ",
		`{"tool_name":"fee_quote","arguments":{"amount":250,"note":"é \" \\ \u00e9"}}`,
		"def f(x):\n    return {'a': [1, 2.5e-3, None]}  # ünïcödé\n",
		"日本語のテキスト、简体中文，한국어, עברית, हिन्दी, Ελληνικά",
		"e\u0301 is not \u00e9; 😀👩‍👩‍👧 and 🇵🇹; ﬁ ﬃ; \u200b\ufeff",
		strings.Repeat("0123456789", 30),
		strings.Repeat("ab\n", 40),
		"\x01\x1f\x7f control characters",
	}
}

// join is the text that tokens stand for.
func (s Subject) join(tokens []inference.Token) string {
	var b strings.Builder
	for _, t := range tokens {
		b.Write(s.Model.Piece(t))
	}
	return b.String()
}

func roundTrip(_ context.Context, s Subject) error {
	var problems all
	for _, text := range texts() {
		tokens, err := s.Model.Tokenize(text, false)
		if err == nil && s.join(tokens) != text {
			err = fmt.Errorf("came back as %q", s.join(tokens))
		}
		problems.add(fmt.Sprintf("%q", text), err)
	}
	if tokens, err := s.Model.Tokenize("", false); err != nil || len(tokens) != 0 {
		problems.add("empty text", fmt.Errorf("got %d tokens (%v), want none", len(tokens), err))
	}
	for _, t := range []inference.Token{-1, inference.Token(s.Model.Info().VocabSize), 1 << 30} {
		if piece := s.Model.Piece(t); len(piece) != 0 || s.Model.IsEnd(t) {
			problems.add(fmt.Sprintf("token %d", t), fmt.Errorf("got %q, want nothing: it isn't in the vocabulary", piece))
		}
	}
	return problems.err()
}

// specialText: what a user wrote never becomes a special token; what the template wrote does.
func specialText(_ context.Context, s Subject) error {
	info := s.Model.Info()
	special := info.EOSText
	if special == "" || !s.Model.IsEnd(info.EOS) {
		return fmt.Errorf("the model has no end of text: EOS is %d, %q", info.EOS, special)
	}
	if piece := s.Model.Piece(info.EOS); len(piece) != 0 {
		return fmt.Errorf("the end of text has text: %q", piece)
	}
	var problems all
	for _, text := range []string{special, "a" + special + "b", special + special, "say " + special + "\n" + info.BOSText + "user\n"} {
		plain, err := s.Model.Tokenize(text, false)
		if err != nil {
			return err
		}
		for _, t := range plain {
			if s.Model.IsEnd(t) || len(s.Model.Piece(t)) == 0 {
				problems.add(fmt.Sprintf("%q as text", text), fmt.Errorf("holds the special token %d", t))
			}
		}
		if got := s.join(plain); got != text {
			problems.add(fmt.Sprintf("%q as text", text), fmt.Errorf("came back as %q", got))
		}
		parsed, err := s.Model.Tokenize(text, true)
		if err != nil {
			return err
		}
		if !slices.Contains(parsed, info.EOS) {
			problems.add(fmt.Sprintf("%q from a template", text), fmt.Errorf("lacks the special token %d: %v", info.EOS, parsed))
		}
	}
	plain, err := s.Model.Tokenize("no special token in here", true)
	if err != nil {
		return err
	}
	if got := s.join(plain); got != "no special token in here" {
		problems.add("plain text from a template", fmt.Errorf("came back as %q: something was added", got))
	}
	return problems.err()
}

func refusedText(_ context.Context, s Subject) error {
	var problems all
	for _, text := range []string{"\x00", "a\x00b", "ends in \x00"} {
		for _, special := range []bool{false, true} {
			tokens, err := s.Model.Tokenize(text, special)
			problems.add(fmt.Sprintf("%q gave %d tokens", text, len(tokens)), wantCode("tokenize", err, fault.CodeInvalidArguments))
		}
	}
	return problems.err()
}
