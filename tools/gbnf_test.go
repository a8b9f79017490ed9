package tools_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// A small reader of GBNF, as strict as llama.cpp's on what this package writes: names of letters, digits and "-", one
// rule a line, literals, classes, groups, ".", and repetition. It can match a text, and make one up.

type gbnf struct{ rules map[string]*node }

type node struct {
	kind     byte // 's' sequence, 'a' alternatives, 'c' character, 'r' rule, '*' repetition
	parts    []*node
	name     string
	negated  bool
	ranges   [][2]rune
	min, max int // max < 0: no limit
}

func parseGBNF(text string) (g *gbnf, err error) {
	g = &gbnf{map[string]*node{}}
	defer func() {
		if r := recover(); r != nil {
			g, err = nil, fmt.Errorf("gbnf: %v", r)
		}
	}()
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		name, body, ok := strings.Cut(line, " ::= ")
		if !ok || name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") != "" {
			return nil, fmt.Errorf("gbnf: not a rule: %s", line)
		}
		if g.rules[name] != nil {
			return nil, fmt.Errorf("gbnf: rule %s is written twice", name)
		}
		p := &gbnfParser{text: body}
		g.rules[name] = p.alternatives()
		if p.at < len(p.text) {
			return nil, fmt.Errorf("gbnf: rule %s: stray text at %s", name, p.text[p.at:])
		}
	}
	if g.rules["root"] == nil {
		return nil, fmt.Errorf("gbnf: no root")
	}
	for name, rule := range g.rules {
		if err := g.checkNames(rule); err != nil {
			return nil, fmt.Errorf("gbnf: rule %s: %w", name, err)
		}
		if g.leftRecursive(rule, map[string]bool{name: true}) {
			return nil, fmt.Errorf("gbnf: rule %s is left-recursive", name)
		}
	}
	return g, nil
}

func (g *gbnf) checkNames(n *node) error {
	if n.kind == 'r' && g.rules[n.name] == nil {
		return fmt.Errorf("rule %s isn't defined", n.name)
	}
	for _, part := range n.parts {
		if err := g.checkNames(part); err != nil {
			return err
		}
	}
	return nil
}

func (g *gbnf) leftRecursive(n *node, open map[string]bool) bool {
	switch n.kind {
	case 'r':
		if open[n.name] {
			return true
		}
		open[n.name] = true
		defer delete(open, n.name)
		return g.leftRecursive(g.rules[n.name], open)
	case 's':
		for _, part := range n.parts {
			if g.leftRecursive(part, open) {
				return true
			}
			if !g.nullable(part) {
				return false
			}
		}
	case 'a', '*':
		return slices.ContainsFunc(n.parts, func(p *node) bool { return g.leftRecursive(p, open) })
	}
	return false
}

func (g *gbnf) nullable(n *node) bool {
	switch n.kind {
	case 's':
		return !slices.ContainsFunc(n.parts, func(p *node) bool { return !g.nullable(p) })
	case 'a':
		return slices.ContainsFunc(n.parts, g.nullable)
	case '*':
		return n.min == 0 || g.nullable(n.parts[0])
	case 'r':
		return g.nullable(g.rules[n.name])
	}
	return false
}

type gbnfParser struct {
	text string
	at   int
}

func (p *gbnfParser) space() {
	for p.at < len(p.text) && p.text[p.at] == ' ' {
		p.at++
	}
}

func (p *gbnfParser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *gbnfParser) alternatives() *node {
	n := &node{kind: 'a'}
	for {
		n.parts = append(n.parts, p.sequence())
		if p.peek() != '|' {
			return n
		}
		p.at++
		p.space()
	}
}

func (p *gbnfParser) sequence() *node {
	n := &node{kind: 's'}
	for {
		p.space()
		var item *node
		switch c := p.peek(); {
		case c == '"':
			p.at++
			item = &node{kind: 's'}
			for p.peek() != '"' {
				r := p.char()
				item.parts = append(item.parts, &node{kind: 'c', ranges: [][2]rune{{r, r}}})
			}
			p.at++
		case c == '[':
			item = p.class()
		case c == '.':
			p.at++
			item = &node{kind: 'c', negated: true}
		case c == '(':
			p.at++
			item = p.alternatives()
			if p.peek() != ')' {
				panic("a group isn't closed")
			}
			p.at++
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9':
			from := p.at
			for c := p.peek(); c == '-' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'; c = p.peek() {
				p.at++
			}
			item = &node{kind: 'r', name: p.text[from:p.at]}
		default:
			return n
		}
		n.parts = append(n.parts, p.repeated(item))
	}
}

func (p *gbnfParser) repeated(item *node) *node {
	switch p.peek() {
	case '*':
		p.at++
		return &node{kind: '*', parts: []*node{item}, min: 0, max: -1}
	case '?':
		p.at++
		return &node{kind: '*', parts: []*node{item}, min: 0, max: 1}
	case '{':
		end := strings.IndexByte(p.text[p.at:], '}')
		from, to, _ := strings.Cut(p.text[p.at+1:p.at+end], ",")
		p.at += end + 1
		least, err1 := strconv.Atoi(from)
		most, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil {
			panic("a bad repetition")
		}
		return &node{kind: '*', parts: []*node{item}, min: least, max: most}
	}
	return item
}

func (p *gbnfParser) class() *node {
	n := &node{kind: 'c'}
	if p.at++; p.peek() == '^' {
		n.negated = true
		p.at++
	}
	for p.peek() != ']' {
		low := p.char()
		high := low
		if p.peek() == '-' && p.text[p.at+1] != ']' {
			p.at++
			high = p.char()
		}
		n.ranges = append(n.ranges, [2]rune{low, high})
	}
	p.at++
	return n
}

func (p *gbnfParser) char() rune {
	if p.at >= len(p.text) {
		panic("unexpected end")
	}
	if p.text[p.at] != '\\' {
		r, size := utf8.DecodeRuneInString(p.text[p.at:])
		p.at += size
		return r
	}
	c := p.text[p.at+1]
	p.at += 2
	switch c {
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'n':
		return '\n'
	case '\\', '"', '[', ']':
		return rune(c)
	case 'x', 'U':
		digits := map[byte]int{'x': 2, 'U': 8}[c]
		v, err := strconv.ParseUint(p.text[p.at:p.at+digits], 16, 32)
		if err != nil {
			panic(err)
		}
		p.at += digits
		return rune(v)
	}
	panic("an escape that llama.cpp doesn't know")
}

func (n *node) admits(r rune) bool {
	for _, span := range n.ranges {
		if span[0] <= r && r <= span[1] {
			return !n.negated
		}
	}
	return n.negated
}

// match reports whether the whole text follows root.
func (g *gbnf) match(text string) bool {
	m := &matcher{g: g, text: []rune(text), memo: map[memoKey][]int{}}
	return slices.Contains(m.ends(g.rules["root"], 0), len(m.text))
}

type memoKey struct {
	n  *node
	at int
}

type matcher struct {
	g    *gbnf
	text []rune
	memo map[memoKey][]int
}

// ends gives every position at which n can end when it starts at at.
func (m *matcher) ends(n *node, at int) []int {
	if n.kind == 'c' {
		if at < len(m.text) && n.admits(m.text[at]) {
			return []int{at + 1}
		}
		return nil
	}
	key := memoKey{n, at}
	if ends, ok := m.memo[key]; ok {
		return ends
	}
	set := map[int]bool{}
	switch n.kind {
	case 'r':
		for _, end := range m.ends(m.g.rules[n.name], at) {
			set[end] = true
		}
	case 'a':
		for _, part := range n.parts {
			for _, end := range m.ends(part, at) {
				set[end] = true
			}
		}
	case 's':
		now := []int{at}
		for _, part := range n.parts {
			now = m.step(part, now)
		}
		for _, end := range now {
			set[end] = true
		}
	case '*':
		now := []int{at}
		for count := 0; len(now) > 0 && (n.max < 0 || count <= n.max); count++ {
			if count >= n.min {
				fresh := now[:0:0]
				for _, end := range now {
					if !set[end] {
						set[end] = true
						fresh = append(fresh, end)
					}
				}
				now = fresh
			}
			now = m.step(n.parts[0], now)
		}
	}
	ends := make([]int, 0, len(set))
	for end := range set {
		ends = append(ends, end)
	}
	slices.Sort(ends)
	m.memo[key] = ends
	return ends
}

func (m *matcher) step(n *node, from []int) []int {
	set := map[int]bool{}
	var to []int
	for _, at := range from {
		for _, end := range m.ends(n, at) {
			if !set[end] {
				set[end] = true
				to = append(to, end)
			}
		}
	}
	return to
}

// sentence makes up a text that follows root.
func (g *gbnf) sentence(t *rapid.T) string {
	w := &writer{t: t, g: g, heights: g.heights()}
	w.write(g.rules["root"], 0)
	return w.text.String()
}

// heights counts for each rule how many rules a shortest text of it passes through.
func (g *gbnf) heights() map[string]int {
	heights := map[string]int{}
	for changed := true; changed; {
		changed = false
		for name, rule := range g.rules {
			if h := rule.height(heights); h < 1<<20 && (heights[name] == 0 || h+1 < heights[name]) {
				heights[name], changed = h+1, true
			}
		}
	}
	return heights
}

func (n *node) height(rules map[string]int) int {
	switch {
	case n.kind == 'r' && rules[n.name] == 0:
		return 1 << 20
	case n.kind == 'r':
		return rules[n.name]
	case n.kind == '*' && n.min == 0:
		return 0
	}
	h := 0
	for i, part := range n.parts {
		if ph := part.height(rules); n.kind != 'a' && ph > h || n.kind == 'a' && (i == 0 || ph < h) {
			h = ph
		}
	}
	return h
}

// writer makes up a text; from some depth on, it makes for the end.
type writer struct {
	t       *rapid.T
	g       *gbnf
	heights map[string]int
	text    strings.Builder
}

const deep = 12 // rules

func (w *writer) write(n *node, depth int) {
	switch n.kind {
	case 'c':
		w.text.WriteRune(n.draw(w.t))
	case 'r':
		w.write(w.g.rules[n.name], depth+1)
	case 's':
		for _, part := range n.parts {
			w.write(part, depth)
		}
	case 'a':
		parts := n.parts
		if depth > deep {
			parts = []*node{slices.MinFunc(parts, func(a, b *node) int { return a.height(w.heights) - b.height(w.heights) })}
		}
		w.write(parts[rapid.IntRange(0, len(parts)-1).Draw(w.t, "alternative")], depth)
	case '*':
		most := n.max
		if most < 0 {
			most = n.min + 5
		}
		if depth > deep {
			most = n.min
		}
		for range rapid.IntRange(n.min, most).Draw(w.t, "times") {
			w.write(n.parts[0], depth)
		}
	}
}

func (n *node) draw(t *rapid.T) rune {
	if n.negated {
		return rapid.Rune().Filter(n.admits).Draw(t, "rune")
	}
	span := n.ranges[rapid.IntRange(0, len(n.ranges)-1).Draw(t, "range")]
	return rune(rapid.IntRange(int(span[0]), int(span[1])).Draw(t, "rune"))
}

func TestGBNFMatcher(t *testing.T) {
	g, err := parseGBNF("root ::= r1 (\",\" r1)* | [^a-c]\nr1 ::= \"a\\\"\" [0-9]{1,3} \"x\"?\n")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{`a"1`: true, `a"123x,a"4`: true, `d`: true, "é": true,
		`a"1234`: false, `a"`: false, `a"1,`: false, `c`: false, ``: false, `a"1xx`: false} {
		if got := g.match(text); got != want {
			t.Errorf("match(%q) = %v, want %v", text, got, want)
		}
	}
	for _, bad := range []string{"r1 ::= \"a\"", "root ::= r2", "root ::= root \"a\"", "root ::= (\"a\"", "root ::= \"a\\q\"",
		"ro_ot ::= \"a\"", "root ::= \"a\"\nroot ::= \"b\"", "root ::= r1 \"a\"\nr1 ::= (\"x\")? root"} {
		if _, err := parseGBNF(bad); err == nil {
			t.Errorf("%q was read as a grammar", bad)
		}
	}
}
