package enginetest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"edge/inference"
	"edge/internal/fault"
)

// vocabulary is every token, last first, so that an order kept can be told from an order made.
func (s Subject) vocabulary() []inference.Token {
	out := make([]inference.Token, s.Model.Info().VocabSize)
	for i := range out {
		out[i] = inference.Token(len(out) - 1 - i)
	}
	return out
}

// grammarFilters walks a small grammar to each of its texts and looks at what it lets through on the way.
func grammarFilters(_ context.Context, s Subject) error {
	wanted := []string{`{"a":1}`, `{"a":-27}`, `{"b":"x"}`}
	grammar := `
		# an object with one of two members
		root   ::= "{" (number | text) "}"
		number ::= "\"a\":" "-"? [1-9] [0-9]{0,2}
		text   ::= "\"b\":\"" [a-z]+ "\""
	`
	var problems all
	for _, text := range wanted {
		problems.add(text, s.walk(grammar, text))
	}
	return problems.err()
}

// walk accepts the tokens of text one by one, which the grammar must allow, and then nothing but an end.
func (s Subject) walk(gbnf, text string) error {
	g, err := s.Model.NewGrammar(gbnf)
	if err != nil {
		return fmt.Errorf("new grammar: %w", err)
	}
	defer g.Close()
	tokens, err := s.Model.Tokenize(text, false)
	if err != nil {
		return err
	}
	for i, t := range tokens {
		allowed := g.Filter(s.vocabulary())
		if !slices.Contains(allowed, t) {
			return fmt.Errorf("token %d of the text, %q, is refused after %q", i, s.Model.Piece(t), s.join(tokens[:i]))
		}
		if !slices.IsSortedFunc(allowed, func(a, b inference.Token) int { return int(b - a) }) {
			return fmt.Errorf("the order of the candidates changed: %v", allowed)
		}
		for _, a := range allowed {
			if s.Model.IsEnd(a) {
				return fmt.Errorf("the text may end after %q", s.join(tokens[:i]))
			}
			if len(s.Model.Piece(a)) == 0 {
				return fmt.Errorf("token %d, which has no text, may come after %q", a, s.join(tokens[:i]))
			}
		}
		if got := g.Filter([]inference.Token{t, t}); len(got) != 2 {
			return fmt.Errorf("filtering changed what comes next: %v", got)
		}
		g.Accept(t)
	}
	allowed := g.Filter(s.vocabulary())
	if len(allowed) == 0 {
		return fmt.Errorf("no end may come after %q", text)
	}
	for _, a := range allowed {
		if !s.Model.IsEnd(a) {
			return fmt.Errorf("%q may come after %q, the whole text", s.Model.Piece(a), text)
		}
	}
	for _, foreign := range [][]inference.Token{nil, {-1, inference.Token(s.Model.Info().VocabSize), 1 << 30}} {
		if got := g.Filter(foreign); len(got) != 0 {
			return fmt.Errorf("%v passed, of candidates %v that aren't tokens", got, foreign)
		}
	}
	return nil
}

// grammarCharacters: classes are of characters, not of bytes, also where a token holds part of one; and no token without
// text passes as the text that it is written with.
func grammarCharacters(_ context.Context, s Subject) error {
	var problems all
	for _, text := range []string{"é", "日本", "😀", "aé日😀b"} {
		problems.add(text, s.walkFree(`root ::= [^"\x00-\x1f]+ "!"`, text))
		problems.add(text, s.walkFree(`root ::= [a-z\u00e9\u65e5\u672c\U0001F600]{1,9} "!"`, text))
	}
	for _, c := range []struct{ grammar, text string }{
		{`root ::= [a-z]+`, "é"},
		{`root ::= [^é]+`, "é"},
		{`root ::= [\u65e6-\u672b]+`, "日"},
		{`root ::= "yes" | "no"`, "maybe"},
	} {
		if err := s.walkFree(c.grammar, c.text); err == nil {
			problems.add(c.grammar, fmt.Errorf("let %q through", c.text))
		}
	}
	special := s.Model.Info().EOSText
	g, err := s.Model.NewGrammar(`root ::= "` + strings.ReplaceAll(special, `"`, `\"`) + `" | [^"]+ "!"`)
	if err != nil {
		return fmt.Errorf("new grammar: %w", err)
	}
	defer g.Close()
	for _, a := range g.Filter(s.vocabulary()) {
		if len(s.Model.Piece(a)) == 0 {
			problems.add("start of any text", fmt.Errorf("token %d, which has no text, may come", a))
		}
	}
	return problems.err()
}

// walkFree accepts the tokens of text and doesn't care what else may come.
func (s Subject) walkFree(gbnf, text string) error {
	g, err := s.Model.NewGrammar(gbnf)
	if err != nil {
		return fmt.Errorf("new grammar: %w", err)
	}
	defer g.Close()
	tokens, err := s.Model.Tokenize(text, false)
	if err != nil {
		return err
	}
	for i, t := range tokens {
		if got := g.Filter([]inference.Token{t}); len(got) != 1 {
			return fmt.Errorf("token %d of %d, %q, is refused by %s", i, len(tokens), s.Model.Piece(t), gbnf)
		}
		g.Accept(t)
	}
	return nil
}

func brokenGrammars(_ context.Context, s Subject) error {
	var problems all
	for _, c := range []struct{ name, grammar string }{
		{"empty", ""},
		{"no root", `start ::= "a"`},
		{"open group", `root ::= "a" (`},
		{"open literal", `root ::= "a`},
		{"open class", `root ::= [a-z`},
		{"unknown rule", `root ::= missing`},
		{"unknown escape", `root ::= "\q"`},
		{"nothing to repeat", `root ::= *`},
		{"bad repetition", `root ::= "a"{x}`},
		{"too many repetitions", `root ::= "a"{3000}`},
		{"left recursion", `root ::= root "a" | "a"`},
		{"hidden left recursion", "root ::= b\nb ::= \"x\"? root \"a\""},
		{"rubbish after a rule", `root ::= "a" )`},
		{"NUL", "root ::= \"a\x00\""},
	} {
		g, err := s.Model.NewGrammar(c.grammar)
		if err == nil {
			g.Close()
		}
		problems.add(c.name, wantCode("new grammar", err, fault.CodeUnsupportedSchema))
	}
	g, err := s.Model.NewGrammar(`root ::= "a"`)
	if err != nil {
		problems.add("a sound grammar after them", err)
		return problems.err()
	}
	for range 2 {
		if err := g.Close(); err != nil {
			problems.add("close", err)
		}
	}
	return problems.err()
}
