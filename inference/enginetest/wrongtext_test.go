package enginetest

import (
	"slices"
	"strings"

	"edge/inference"
)

func wrongText() []wrong {
	return []wrong{
		{name: "text is trimmed", finds: "text round trip", adapter: adapter{tokenize: func(m inference.Model, text string, special bool) ([]inference.Token, error) {
			return m.Tokenize(strings.TrimRight(text, " "), special)
		}}},
		{name: "text is normalised", finds: "text round trip", adapter: adapter{tokenize: func(m inference.Model, text string, special bool) ([]inference.Token, error) {
			return m.Tokenize(strings.ReplaceAll(text, "e\u0301", "\u00e9"), special)
		}}},
		{name: "tokens that don't exist have text", finds: "text round trip", adapter: adapter{piece: func(m inference.Model, token inference.Token) []byte {
			if token < 0 {
				return []byte("?")
			}
			return m.Piece(token)
		}}},
		{name: "user text becomes special tokens", finds: "special text stays text", adapter: adapter{tokenize: func(m inference.Model, text string, _ bool) ([]inference.Token, error) {
			return m.Tokenize(text, true)
		}}},
		{name: "template text doesn't become special tokens", finds: "special text stays text", adapter: adapter{tokenize: func(m inference.Model, text string, _ bool) ([]inference.Token, error) {
			return m.Tokenize(text, false)
		}}},
		{name: "special tokens have text", finds: "special text stays text", adapter: adapter{piece: func(m inference.Model, token inference.Token) []byte {
			if m.IsEnd(token) {
				return []byte("</s>")
			}
			return m.Piece(token)
		}}},
		{name: "a blank is put before the text", finds: "special text stays text", adapter: adapter{tokenize: func(m inference.Model, text string, special bool) ([]inference.Token, error) {
			if special {
				text = " " + text
			}
			return m.Tokenize(text, special)
		}}},
		{name: "NUL ends the text", finds: "text that is refused", adapter: adapter{tokenize: func(m inference.Model, text string, special bool) ([]inference.Token, error) {
			text, _, _ = strings.Cut(text, "\x00")
			return m.Tokenize(text, special)
		}}},

		{name: "everything may come", finds: "grammar filters", adapter: filtering(func(_ inference.Grammar, c []inference.Token) []inference.Token { return c })},
		{name: "nothing may come", finds: "grammar filters", adapter: filtering(func(inference.Grammar, []inference.Token) []inference.Token { return nil })},
		{name: "the end may always come", finds: "grammar filters", adapter: filtering(func(g inference.Grammar, c []inference.Token) []inference.Token {
			out := g.Filter(c)
			if slices.Contains(c, 2) && !slices.Contains(out, 2) {
				out = append(out, 2)
			}
			return out
		})},
		{name: "candidates are sorted", finds: "grammar filters", adapter: filtering(func(g inference.Grammar, c []inference.Token) []inference.Token {
			out := g.Filter(c)
			slices.Sort(out)
			return out
		})},
		{name: "foreign candidates pass", finds: "grammar filters", adapter: filtering(func(g inference.Grammar, c []inference.Token) []inference.Token {
			out := g.Filter(c)
			if slices.Contains(c, -1) {
				out = append(out, -1)
			}
			return out
		})},
		{name: "control tokens pass as text", finds: "grammar of characters", adapter: filtering(func(g inference.Grammar, c []inference.Token) []inference.Token {
			out := g.Filter(c)
			if len(out) > 100 {
				out = append(out, 1)
			}
			return out
		})},
		{name: "a broken grammar allows everything", finds: "broken grammars are refused", adapter: adapter{grammar: func(m inference.Model, gbnf string) (inference.Grammar, error) {
			g, err := m.NewGrammar(gbnf)
			if err != nil {
				return m.NewGrammar(`root ::= .*`)
			}
			return g, nil
		}}},
		{name: "an empty grammar allows everything", finds: "broken grammars are refused", adapter: adapter{grammar: func(m inference.Model, gbnf string) (inference.Grammar, error) {
			if gbnf == "" {
				gbnf = `root ::= .*`
			}
			return m.NewGrammar(gbnf)
		}}},
	}
}
