package learn

import (
	"context"

	"edge/imprint"
	"edge/inference"
	"edge/inference/chattemplate"
	"edge/internal/sealed"
)

// prober asks one request after another behind a prefix, each from the same restored state: what a chat does with its
// first prompt.
type prober struct {
	world    World
	messages []chattemplate.Message // what the prefix was rendered from
	tokens   []inference.Token      // the prefix
	session  inference.Session
	restore  func(context.Context, imprint.StateSink) error
}

// restoring gives back a state of this process.
func restoring(state sealed.State) func(context.Context, imprint.StateSink) error {
	return func(ctx context.Context, sink imprint.StateSink) error { return sink.RestoreState(ctx, state) }
}

// ask puts a request after the restored prefix; its hidden states are then the session's.
func (p *prober) ask(ctx context.Context, prompt string) error {
	suffix, err := p.world.Suffix(append(p.messages[:len(p.messages):len(p.messages)], chattemplate.Message{Role: chattemplate.User, Content: prompt}), p.tokens)
	if err != nil {
		return err
	}
	if err := p.session.Reset(ctx); err != nil {
		return err
	}
	if err := p.restore(ctx, p.session); err != nil {
		return err
	}
	return p.session.Decode(ctx, inference.Batch{Tokens: suffix, Hidden: true})
}

// longestRequest bounds the tokens of any of the requests: a token is at least a byte.
func longestRequest(lists ...[]Example) int {
	longest := 0
	for _, list := range lists {
		for _, e := range list {
			longest = max(longest, len(e.Prompt))
		}
	}
	return longest + 64 // the template's own tokens around a turn
}
