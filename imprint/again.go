package imprint

import (
	"fmt"
	"time"

	"edge/internal/stamp"
)

// Again admits another opening of the imprint that v is, for a process that keeps v in memory: step 4 is done as
// Verify does it, and v's own content stands for step 5, since the same id names the same digests. What it gives holds
// v's buffers and nothing of u's file; whether that file is still untouched is for the caller to know.
//
// Errors: those of step 4; a plain one where u isn't the same imprint.
func (v *Verified) Again(u *Unverified, live Identity) (*Verified, error) {
	if v.state.Tokens() == 0 || u.id != v.id {
		return nil, fmt.Errorf("imprint: %s isn't the imprint that was verified", u.path)
	}
	if err := u.compare(live); err != nil {
		return nil, err
	}
	u.trail.Step = StepPayload
	again := *v
	again.trail = u.trail
	return &again, nil
}

// Stamps tells of the files that u has open, its own and those of its layers; not ok where the system tells too little.
func (u *Unverified) Stamps() (all []stamp.Stamp, ok bool) {
	for _, f := range u.files {
		info, err := f.Stat()
		if err != nil {
			return nil, false
		}
		s, ok := stamp.Of(f, info)
		if !ok {
			return nil, false
		}
		all = append(all, s)
	}
	return all, len(all) > 0
}

// compare is step 4.
func (u *Unverified) compare(live Identity) error {
	if err := live.Check(); err != nil {
		return fmt.Errorf("imprint: the live identity: %w", err)
	}
	u.trail.Step = StepIdentity
	start := time.Now()
	differs := drift(u.header.Identity, live)
	u.trail.Identity = time.Since(start)
	if differs != nil {
		return refuse(u.path, u.trail, differs)
	}
	return nil
}
