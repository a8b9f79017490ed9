package serve

import (
	"context"
	"slices"
	"time"

	"edge/imprint"
	"edge/internal/sealed"
	"edge/internal/stamp"
)

// known is an imprint that came through the gate, with what tells that its files are still those that were read.
type known struct {
	verified *imprint.Verified
	files    []stamp.Stamp
	used     time.Time
}

// Verify is the gate for an imprint that may be in memory already. The identity is compared each time; the content is
// read and digested again unless it is in memory and every one of its files stands untouched since it was.
func (p *Pool) Verify(ctx context.Context, u *imprint.Unverified, live imprint.Identity) (*imprint.Verified, error) {
	files, told := u.Stamps()
	if k := p.lookup(u.ID(), files); told && k != nil {
		return k.verified.Again(u, live)
	}
	began := p.now()
	v, err := u.Verify(ctx, live)
	if err == nil && told && !slices.ContainsFunc(files, func(s stamp.Stamp) bool { return !s.QuietSince(began) }) {
		p.remember(v, files)
	}
	return v, err
}

func (p *Pool) lookup(id imprint.ID, files []stamp.Stamp) *known {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.imprints {
		if k.verified.ID() == id && slices.Equal(k.files, files) {
			k.used = p.now()
			return k
		}
	}
	return nil
}

// remember keeps v instead of what had its id, and lets go of the one that was used longest ago.
func (p *Pool) remember(v *imprint.Verified, files []stamp.Stamp) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.imprints = slices.DeleteFunc(p.imprints, func(k *known) bool { return k.verified.ID() == v.ID() })
	p.imprints = append(p.imprints, &known{v, files, p.now()})
	if len(p.imprints) > maxImprints {
		oldest := slices.MinFunc(p.imprints, func(a, b *known) int { return a.used.Compare(b.used) })
		p.imprints = slices.DeleteFunc(p.imprints, func(k *known) bool { return k == oldest })
	}
}

// isImprint says that state is an imprint's that is kept here, and so nobody's conversation.
func (p *Pool) isImprint(state sealed.State) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.imprints, func(k *known) bool { return same(k.verified.State(), state) })
}

// same says that two states are the very same buffers.
func same(a, b sealed.State) bool {
	return slices.EqualFunc(a.Layers(), b.Layers(), func(a, b sealed.Layer) bool {
		x, y := a.Bytes(), b.Bytes()
		return a.Tokens() == b.Tokens() && len(x) == len(y) && len(x) > 0 && &x[0] == &y[0]
	})
}
