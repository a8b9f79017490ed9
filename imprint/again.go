package imprint

import (
	"fmt"
	"io/fs"
	"time"
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

// Files tells of the files that u has open, its own and those of its layers.
func (u *Unverified) Files() ([]fs.FileInfo, error) {
	var all []fs.FileInfo
	for _, f := range u.files {
		open, ok := f.(interface{ Stat() (fs.FileInfo, error) })
		if !ok {
			return nil, fmt.Errorf("imprint %s: an open part of it is no file", u.path)
		}
		info, err := open.Stat()
		if err != nil {
			return nil, fmt.Errorf("imprint: %w", err)
		}
		all = append(all, info)
	}
	return all, nil
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
