package fake

import "unicode/utf8"

// frame is what is left of a sequence, and the frame to go on with afterwards. Frames are shared and never changed.
type frame struct {
	rest   []element // starts with a character; parents may start with a rule
	parent *frame
}

// frameKey makes equal frames the same frame, so that sets of them stay small.
type frameKey struct {
	first  *element
	parent *frame
}

// place is how far a text has got in a grammar: all the ways to go on, and whether it may end here.
type place struct {
	frames  []*frame
	end     bool
	pending []byte // the first bytes of a character
}

// matcher walks a grammar byte by byte.
type matcher struct {
	rules  *rules
	frames map[frameKey]*frame
}

func newMatcher(g *rules) *matcher {
	return &matcher{rules: g, frames: map[frameKey]*frame{}}
}

// start is the place before any text.
func (m *matcher) start() place {
	x := expansion{matcher: m, seen: map[frameKey]bool{}}
	for _, sequence := range m.rules.list[m.rules.root].alternatives {
		x.add(sequence, nil)
	}
	return x.place
}

// intern gives the frame of rest and parent; a frame with nothing left is its parent.
func (m *matcher) intern(rest []element, parent *frame) *frame {
	if len(rest) == 0 {
		return parent
	}
	key := frameKey{&rest[0], parent}
	if f, ok := m.frames[key]; ok {
		return f
	}
	f := &frame{rest, parent}
	m.frames[key] = f
	return f
}

// expansion collects the characters that can come next.
type expansion struct {
	*matcher
	seen  map[frameKey]bool
	place place
}

func (x *expansion) add(rest []element, parent *frame) {
	for len(rest) == 0 {
		if parent == nil {
			x.place.end = true
			return
		}
		rest, parent = parent.rest, parent.parent
	}
	key := frameKey{&rest[0], parent}
	if x.seen[key] {
		return
	}
	x.seen[key] = true
	if rest[0].set != nil {
		x.place.frames = append(x.place.frames, x.intern(rest, parent))
		return
	}
	after := x.intern(rest[1:], parent)
	for _, sequence := range x.rules.list[rest[0].rule].alternatives {
		x.add(sequence, after)
	}
}

// feed moves on by text; ok is false where the grammar doesn't allow it.
func (m *matcher) feed(at place, text []byte) (_ place, ok bool) {
	for i, b := range text {
		at.pending = append(at.pending[:len(at.pending):len(at.pending)], b)
		if !utf8.FullRune(at.pending) {
			if i == len(text)-1 && !at.allowsStart(at.pending) {
				return place{}, false
			}
			continue
		}
		r, size := utf8.DecodeRune(at.pending)
		if r == utf8.RuneError && size == 1 {
			return place{}, false
		}
		x := expansion{matcher: m, seen: map[frameKey]bool{}}
		for _, f := range at.frames {
			if f.rest[0].set.has(r) {
				x.add(f.rest[1:], f.parent)
			}
		}
		if at = x.place; len(at.frames) == 0 && !at.end {
			return place{}, false
		}
	}
	return at, true
}

// allowsStart says whether any character that starts with these bytes can come next.
func (at place) allowsStart(pending []byte) bool {
	low, high := runeSpan(pending)
	for _, f := range at.frames {
		if f.rest[0].set.overlaps(low, high) {
			return true
		}
	}
	return false
}

// runeSpan is the least and the greatest code point whose UTF-8 form starts with pending, an unfinished character.
func runeSpan(pending []byte) (low, high rune) {
	size, value := 2, rune(pending[0]&0x1f)
	switch {
	case pending[0] >= 0xf0:
		size, value = 4, rune(pending[0]&0x07)
	case pending[0] >= 0xe0:
		size, value = 3, rune(pending[0]&0x0f)
	}
	least := map[int]rune{2: 0x80, 3: 0x800, 4: 0x10000}[size]
	for _, b := range pending[1:] {
		value = value<<6 | rune(b&0x3f)
	}
	missing := 6 * (size - len(pending))
	low, high = value<<missing, value<<missing|(1<<missing-1)
	return max(low, least), min(high, utf8.MaxRune)
}

// ends says whether the text may end here.
func (at place) ends() bool { return at.end && len(at.pending) == 0 }
