package chat

import (
	"context"

	"edge/internal/sealed"
)

// mark is a place of the conversation to go back to: the session's state when it held everything up to a message. A
// session decodes forward only, and what a model said isn't always what stays in the conversation.
type mark struct {
	state   sealed.State
	through int
	set     bool
}

// setMark keeps the place where a turn begins. Right behind the prefix none is needed: the imprint is one.
func (c *Chat) setMark(ctx context.Context) error {
	c.mark = mark{}
	if !c.cfg.GoesOn || c.session == nil || c.through < 0 {
		return nil
	}
	state, err := c.session.SaveState(ctx)
	if err != nil {
		return err
	}
	c.mark = mark{state, c.through, true}
	return nil
}

// goBack takes the session to the mark; what came since is decoded again, as far as it stays, with the next prompt.
// Without a mark the whole conversation is.
func (c *Chat) goBack(ctx context.Context) {
	if !c.mark.set || c.session == nil {
		c.lose()
		return
	}
	if c.session.Reset(ctx) != nil || c.session.RestoreState(ctx, c.mark.state) != nil {
		c.lose()
		return
	}
	c.through = c.mark.through
}
