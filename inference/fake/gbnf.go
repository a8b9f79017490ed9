package fake

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// repetitionLimit is llama.cpp's: more repetitions of more rules are refused, a larger maximum counts as none.
const repetitionLimit = 2000

// charset is one character of a grammar: ranges of code points, or all others.
type charset struct {
	ranges  [][2]rune
	negated bool
}

func (c *charset) has(r rune) bool {
	for _, span := range c.ranges {
		if span[0] <= r && r <= span[1] {
			return !c.negated
		}
	}
	return c.negated
}

// overlaps says whether the beginning of a character passes that may become any of low…high. Like llama.cpp, it is too
// strict for a negated class: one excluded character among them refuses them all.
func (c *charset) overlaps(low, high rune) bool {
	for _, span := range c.ranges {
		if span[0] <= high && low <= span[1] {
			return !c.negated
		}
	}
	return c.negated
}

// element is one character, or where set is nil a rule.
type element struct {
	set  *charset
	rule int
}

// rule is a list of alternatives; defined tells an empty one from one that was only mentioned.
type rule struct {
	name         string
	alternatives [][]element
	defined      bool
}

// rules is a compiled grammar. Groups and repetitions have become rules of their own.
type rules struct {
	list []rule
	root int
}

// parser reads GBNF. Its methods panic with a syntaxError, which parseGBNF catches.
type parser struct {
	text  string
	at    int
	rules []rule
	names map[string]int
}

type syntaxError string

// parseGBNF compiles the notation that llama.cpp's grammars are written in: rules, alternatives, literals, character
// classes, groups, ? * + {m} {m,} {m,n}, and comments. It refuses what could never be matched step by step: unknown
// rules, left recursion, too many repetitions.
func parseGBNF(text string) (_ *rules, err error) {
	p := &parser{text: text, names: map[string]int{}}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case syntaxError:
			err = fmt.Errorf("line %d: %s", 1+strings.Count(text[:min(p.at, len(text))], "\n"), string(e))
		default:
			panic(e)
		}
	}()
	for p.space(true); p.at < len(p.text); p.space(true) {
		p.parseRule()
	}
	for _, r := range p.rules {
		if !r.defined {
			return nil, fmt.Errorf("rule %s isn't defined", r.name)
		}
	}
	root, ok := p.names["root"]
	if !ok {
		return nil, fmt.Errorf("there is no rule root")
	}
	g := &rules{list: p.rules, root: root}
	if name, found := g.leftRecursion(); found {
		return nil, fmt.Errorf("rule %s is left-recursive", name)
	}
	return g, nil
}

func (p *parser) fail(format string, args ...any) {
	panic(syntaxError(fmt.Sprintf(format, args...)))
}

// peek is the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// space skips blanks and comments, and line ends where they are allowed.
func (p *parser) space(newlines bool) {
	for {
		switch c := p.peek(); {
		case c == ' ' || c == '\t' || newlines && (c == '\r' || c == '\n'):
			p.at++
		case c == '#':
			for p.at < len(p.text) && p.text[p.at] != '\n' && p.text[p.at] != '\r' {
				p.at++
			}
		default:
			return
		}
	}
}

func (p *parser) want(token string) {
	if !strings.HasPrefix(p.text[p.at:], token) {
		p.fail("want %q", token)
	}
	p.at += len(token)
}

func isNameByte(c byte) bool {
	return c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func (p *parser) name() string {
	start := p.at
	for isNameByte(p.peek()) {
		p.at++
	}
	if start == p.at {
		p.fail("want a rule's name")
	}
	return p.text[start:p.at]
}

func (p *parser) lookup(name string) int {
	if i, ok := p.names[name]; ok {
		return i
	}
	p.names[name] = len(p.rules)
	p.rules = append(p.rules, rule{name: name})
	return len(p.rules) - 1
}

// synthesize adds a rule that the text doesn't name.
func (p *parser) synthesize(owner string, alternatives ...[]element) int {
	p.rules = append(p.rules, rule{name: owner, alternatives: alternatives, defined: true})
	return len(p.rules) - 1
}

func (p *parser) parseRule() {
	name := p.name()
	p.space(false)
	p.want("::=")
	p.space(true)
	i := p.lookup(name)
	if p.rules[i].defined {
		p.fail("rule %s is defined twice", name)
	}
	alternatives := p.alternatives(name, false)
	p.rules[i].alternatives, p.rules[i].defined = alternatives, true
	if c := p.peek(); c != 0 && c != '\n' && c != '\r' {
		p.fail("rule %s: %q isn't expected here", name, string(c))
	}
}

func (p *parser) alternatives(owner string, nested bool) [][]element {
	all := [][]element{p.sequence(owner, nested)}
	for p.peek() == '|' {
		p.at++
		p.space(true)
		all = append(all, p.sequence(owner, nested))
	}
	return all
}

// sequence reads items up to "|", ")" or the rule's end.
func (p *parser) sequence(owner string, nested bool) []element {
	var done, item []element
	weight := 1 // how many rules one more repetition of item copies
	for {
		switch c := p.peek(); {
		case c == '"':
			done, item, weight = append(done, item...), p.literal(), 1
		case c == '[':
			done, item, weight = append(done, item...), []element{{set: p.class()}}, 1
		case c == '.':
			p.at++
			done, item, weight = append(done, item...), []element{{set: &charset{negated: true}}}, 1
		case c == '(':
			p.at++
			p.space(true)
			before := len(p.rules)
			group := p.synthesize(owner)
			alternatives := p.alternatives(owner, true)
			p.rules[group].alternatives = alternatives
			p.want(")")
			done, item, weight = append(done, item...), []element{{rule: group}}, max(1, len(p.rules)-before)
		case isNameByte(c):
			done, item, weight = append(done, item...), []element{{rule: p.lookup(p.name())}}, 1
		case c == '?' || c == '*' || c == '+' || c == '{':
			low, high := p.times()
			if item == nil {
				p.fail("rule %s: there is nothing to repeat", owner)
			}
			copies := max(high, low, 1)
			if weight *= copies; weight > repetitionLimit {
				p.fail("rule %s: more than %d repetitions", owner, repetitionLimit)
			}
			item = p.repeat(owner, item, low, high)
		default:
			return append(done, item...)
		}
		p.space(nested)
	}
}

const unlimited = -1

func (p *parser) times() (low, high int) {
	c := p.peek()
	p.at++
	switch c {
	case '?':
		return 0, 1
	case '*':
		return 0, unlimited
	case '+':
		return 1, unlimited
	}
	p.space(true)
	low = p.number()
	high = low
	p.space(true)
	if p.peek() == ',' {
		p.at++
		p.space(true)
		high = unlimited
		if c := p.peek(); '0' <= c && c <= '9' {
			high = p.number()
			p.space(true)
		}
	}
	p.want("}")
	if low > repetitionLimit {
		p.fail("more than %d repetitions", repetitionLimit)
	}
	if high > repetitionLimit {
		high = unlimited
	}
	if high != unlimited && high < low {
		p.fail("{%d,%d} is empty", low, high)
	}
	return low, high
}

func (p *parser) number() int {
	start := p.at
	for c := p.peek(); '0' <= c && c <= '9'; c = p.peek() {
		p.at++
	}
	n, err := strconv.Atoi(p.text[start:p.at])
	if err != nil {
		p.fail("%q isn't a number of repetitions", p.text[start:p.at])
	}
	return n
}

// repeat writes item{low,high} as low copies and a rule for the rest: for no limit R ::= item R | nothing, for each of
// the high−low others Rₖ ::= item Rₖ₋₁ | nothing.
func (p *parser) repeat(owner string, item []element, low, high int) []element {
	out := []element{} // not nil: what repeats zero times is still an item
	for range low {
		out = append(out, item...)
	}
	if high == unlimited {
		again := p.synthesize(owner)
		p.rules[again].alternatives = [][]element{concat(item, element{rule: again}), {}}
		return append(out, element{rule: again})
	}
	rest := -1
	for range high - low {
		if rest < 0 {
			rest = p.synthesize(owner, item, nil)
			continue
		}
		rest = p.synthesize(owner, concat(item, element{rule: rest}), nil)
	}
	if rest >= 0 {
		out = append(out, element{rule: rest})
	}
	return out
}

func concat(items []element, last element) []element {
	return append(append(make([]element, 0, len(items)+1), items...), last)
}

func (p *parser) literal() []element {
	p.at++
	out := []element{}
	for p.peek() != '"' {
		r := p.char()
		out = append(out, element{set: &charset{ranges: [][2]rune{{r, r}}}})
	}
	p.at++
	return out
}

func (p *parser) class() *charset {
	p.at++
	set := &charset{}
	if p.peek() == '^' {
		p.at++
		set.negated = true
	}
	for p.peek() != ']' {
		low := p.char()
		high := low
		if strings.HasPrefix(p.text[p.at:], "-") && !strings.HasPrefix(p.text[p.at:], "-]") {
			p.at++
			high = p.char()
		}
		set.ranges = append(set.ranges, [2]rune{low, high})
	}
	p.at++
	return set
}

// char reads one character of a literal or class, resolving escapes.
func (p *parser) char() rune {
	if p.at >= len(p.text) {
		p.fail("the grammar ends inside a literal or class")
	}
	if p.text[p.at] != '\\' {
		r, size := utf8.DecodeRuneInString(p.text[p.at:])
		p.at += size
		return r
	}
	p.at++
	c := p.peek()
	p.at++
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case '\\', '"', '[', ']', '-':
		return rune(c)
	case 'x':
		return p.hex(2)
	case 'u':
		return p.hex(4)
	case 'U':
		return p.hex(8)
	}
	p.fail("unknown escape \\%s", string(c))
	return 0
}

func (p *parser) hex(digits int) rune {
	end := min(p.at+digits, len(p.text))
	n, err := strconv.ParseUint(p.text[p.at:end], 16, 32)
	if err != nil || end-p.at != digits || n > utf8.MaxRune {
		p.fail("%q isn't a character's number of %d hex digits", p.text[p.at:end], digits)
	}
	p.at = end
	return rune(n)
}
