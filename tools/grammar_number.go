package tools

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"
)

const (
	freeInteger = `"-"? ("0" | [1-9] [0-9]{0,15})`
	freeNumber  = freeInteger + ` ("." [0-9]{1,16})? ([eE] ("-" "0"? [1-9] [0-9]? | "+"? [1-9]))?`
	fraction    = `("." [0-9]{1,16})`
)

// number writes an integer or a number, of the request where the policy says so, and within the schema's range.
func (g *grammar) number(p place, s *shape, whole bool) (string, error) {
	if p.policy.Source == FromRequest {
		texts := slices.DeleteFunc(candidateNumbers(g.numbers, whole), func(text string) bool { return s.schema.Validate(json.Number(text)) != nil })
		if len(texts) > 0 {
			return g.share(alternatives(texts)), nil
		}
	}
	r := rangeOf(s.schema.Minimum, s.schema.ExclusiveMinimum, s.schema.Maximum, s.schema.ExclusiveMaximum)
	text := ""
	switch {
	case r.free() && whole:
		text = freeInteger
	case r.free():
		text = freeNumber
	case whole:
		text = r.integers()
	default:
		text = r.numbers()
	}
	if text == "" {
		return "", p.unsupported("a range that holds no number")
	}
	return g.share(text), nil
}

// numberRange is from low to high; a side without a limit is nil.
type numberRange struct {
	low, high       *big.Rat
	openLow, openUp bool // the limit itself is outside
}

func rangeOf(low, above, high, below *big.Rat) numberRange {
	r := numberRange{low: low, high: high}
	if above != nil && (low == nil || above.Cmp(low) >= 0) {
		r.low, r.openLow = above, true
	}
	if below != nil && (high == nil || below.Cmp(high) <= 0) {
		r.high, r.openUp = below, true
	}
	return r
}

func (r numberRange) free() bool { return r.low == nil && r.high == nil }

func one() *big.Int { return big.NewInt(1) }

// largest is the largest() number of 16 digits.
func largest() *big.Int { return big.NewInt(1e16 - 1) }

// integers admits exactly the integers of the range, up to 16 digits.
func (r numberRange) integers() string {
	low, high := new(big.Int).Neg(largest()), largest()
	if r.low != nil {
		if low = floor(r.low); !r.low.IsInt() || r.openLow {
			low = new(big.Int).Add(low, one())
		}
	}
	if r.high != nil {
		if high = floor(r.high); r.high.IsInt() && r.openUp {
			high = new(big.Int).Sub(high, one())
		}
	}
	var choices []string
	if low.Sign() < 0 {
		up := new(big.Int).Neg(low)
		from := one()
		if high.Sign() < 0 {
			from = new(big.Int).Neg(high)
		}
		if text := naturals(from, up); text != "" {
			choices = append(choices, `"-" (`+text+`)`)
		}
	}
	if high.Sign() >= 0 {
		if low.Sign() < 0 {
			low = new(big.Int)
		}
		choices = append(choices, naturals(low, high))
	}
	return alternation(choices)
}

// numbers admits numbers without an exponent. A limit that isn't whole is kept only in its whole part.
func (r numberRange) numbers() string {
	var choices []string
	zero := new(big.Rat)
	if r.low == nil || r.low.Sign() < 0 {
		m := numberRange{low: zero, openLow: true}
		if r.high != nil && r.high.Sign() <= 0 {
			m.low, m.openLow = new(big.Rat).Neg(r.high), r.openUp
		}
		if r.low != nil {
			m.high, m.openUp = new(big.Rat).Neg(r.low), r.openLow
		}
		if text := m.magnitudes(); text != "" {
			choices = append(choices, `"-" (`+text+`)`)
		}
	}
	if r.high == nil || r.high.Sign() >= 0 {
		m := r
		if m.low == nil || m.low.Sign() < 0 {
			m.low, m.openLow = zero, false
		}
		choices = append(choices, m.magnitudes())
	}
	return alternation(choices)
}

// magnitudes writes the numbers of a range whose lower limit isn't negative.
func (r numberRange) magnitudes() string {
	from, to := floor(r.low), largest()
	if r.high != nil {
		to = floor(r.high)
	}
	var choices []string
	first := from.String()
	switch {
	case from.Cmp(to) == 0 && r.high != nil && r.high.IsInt():
		if !r.openLow && !r.openUp {
			choices = append(choices, quote(first))
		}
		return alternation(choices)
	case from.Cmp(to) > 0:
		return ""
	case !r.low.IsInt():
		choices = append(choices, quote(first)+" "+fraction)
	case r.openLow:
		choices = append(choices, quote(first)+` "." [0-9]{0,15} [1-9]`)
	default:
		choices = append(choices, quote(first)+" "+fraction+"?")
	}
	if from.Cmp(to) == 0 {
		return alternation(choices)
	}
	until := to
	if r.high != nil {
		until = new(big.Int).Sub(to, one())
	}
	if text := naturals(new(big.Int).Add(from, one()), until); text != "" {
		choices = append(choices, "("+text+") "+fraction+"?")
	}
	switch {
	case r.high == nil:
	case !r.high.IsInt():
		choices = append(choices, quote(to.String())+" "+fraction+"?")
	case !r.openUp:
		choices = append(choices, quote(to.String()))
	}
	return alternation(choices)
}

func alternation(choices []string) string {
	choices = slices.DeleteFunc(choices, func(s string) bool { return s == "" })
	return strings.Join(choices, " | ")
}

// floor is the largest() integer that isn't above.
func floor(r *big.Rat) *big.Int { return new(big.Int).Div(r.Num(), r.Denom()) }
