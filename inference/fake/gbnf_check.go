package fake

// leftRecursion names a rule that can come back to itself without having matched a character: matching it step by step
// would never end.
func (g *rules) leftRecursion() (name string, found bool) {
	nullable := g.nullable()
	const (
		unseen = iota
		open
		closed
	)
	state := make([]int, len(g.list))
	var visit func(i int) bool
	visit = func(i int) bool {
		if state[i] != unseen {
			return state[i] == open
		}
		state[i] = open
		for _, sequence := range g.list[i].alternatives {
			for _, e := range sequence {
				if e.set != nil {
					break
				}
				if visit(e.rule) {
					return true
				}
				if !nullable[e.rule] {
					break
				}
			}
		}
		state[i] = closed
		return false
	}
	for i, r := range g.list {
		if visit(i) {
			return r.name, true
		}
	}
	return "", false
}

// nullable says of each rule whether it matches the empty text.
func (g *rules) nullable() []bool {
	out := make([]bool, len(g.list))
	for changed := true; changed; {
		changed = false
		for i, r := range g.list {
			if out[i] {
				continue
			}
			for _, sequence := range r.alternatives {
				empty := true
				for _, e := range sequence {
					empty = empty && e.set == nil && out[e.rule]
				}
				if empty {
					out[i], changed = true, true
				}
			}
		}
	}
	return out
}
