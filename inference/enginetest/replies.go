package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"edge/inference"
	"edge/inference/chattemplate"
)

// replySchema is of a reply that the server must have heard of by the schema alone.
const replySchema = `{"type":"object","properties":{"unit":{"enum":["kelvin"]}},"required":["unit"],"additionalProperties":false}`

// asking gives a session that holds a conversation up to where the assistant begins.
func (s Subject) asking(ctx context.Context) (inference.Writer, error) {
	r, err := chattemplate.New(s.Model, s.Model.Info())
	if err != nil {
		return nil, err
	}
	tokens, err := r.Tokens([]chattemplate.Message{{Role: chattemplate.System, Content: "You are brief."}, {Role: chattemplate.User, Content: "Say something about ünïcödé <|im_end|> and 日本."}}, true)
	if err != nil {
		return nil, err
	}
	session, err := s.session(ctx, len(tokens)+512)
	if err != nil {
		return nil, err
	}
	w, ok := session.(inference.Writer)
	if !ok {
		session.Close()
		return nil, fmt.Errorf("the session of a served model is no inference.Writer")
	}
	return w, session.Decode(ctx, inference.Batch{Tokens: tokens})
}

// replies: what is heard is what is given and what the session holds; a schema is kept; and what the server can't say isn't
// said.
func replies(ctx context.Context, s Subject) error {
	can := s.Model.Info().Can
	for _, schema := range []string{"", replySchema} {
		w, err := s.asking(ctx)
		if err != nil {
			return err
		}
		defer w.Close()
		var heard strings.Builder
		firsts, before := 0, w.Position()
		out, err := w.Write(ctx, inference.Ask{Schema: json.RawMessage(schema), MaxTokens: 24, OnText: func(t string) { heard.WriteString(t) }, First: func() { firsts++ }})
		if err != nil {
			return fmt.Errorf("schema %q: %w", schema, err)
		}
		switch x := out.Exchange; {
		case out.Text == "" || out.Text != heard.String():
			return fmt.Errorf("heard %q, and was given %q", heard.String(), out.Text)
		case firsts != 1:
			return fmt.Errorf("the first text was told %d times", firsts)
		case w.Position() != before+len(out.Text):
			return fmt.Errorf("the session holds %d tokens after %d and a reply of %d bytes", w.Position(), before, len(out.Text))
		case x.Requests != 1 || x.PromptTokens < 1 || x.GeneratedTokens < 1:
			return fmt.Errorf("the exchange: %+v", x)
		case !can.Cached && x.CachedTokens != nil, x.CachedTokens != nil && (*x.CachedTokens < 0 || *x.CachedTokens > x.PromptTokens):
			return fmt.Errorf("cached tokens of a server that doesn't say them, or more than there are: %+v", x)
		case can.Durations && (x.PromptMS == nil || x.GenerateMS == nil):
			return fmt.Errorf("durations are missing: %+v", x)
		case x.ModelProven != can.Proven:
			return fmt.Errorf("the model is proven: %t, and the table says %t", x.ModelProven, can.Proven)
		}
		if schema != "" {
			var said struct{ Unit string }
			if err := json.Unmarshal([]byte(out.Text), &said); err != nil || said.Unit != "kelvin" {
				return fmt.Errorf("the schema admits kelvin alone, and the reply is %q", out.Text)
			}
		}
	}
	return nil
}

// endedReplies: a reply that is stopped is part of the session as far as it came; one that is cancelled closes it.
func endedReplies(ctx context.Context, s Subject) error {
	w, err := s.asking(ctx)
	if err != nil {
		return err
	}
	defer w.Close()
	pieces := 0
	out, err := w.Write(ctx, inference.Ask{MaxTokens: 24, OnText: func(string) { pieces++ }, Stop: func() bool { return pieces > 0 }})
	if err != nil || !out.Stopped || out.Ended || out.Text == "" {
		return fmt.Errorf("stopped after the first piece: %+v, %v", out, err)
	}
	if _, err := w.SaveState(ctx); err != nil {
		return fmt.Errorf("save after a reply that was stopped: %w", err)
	}
	again, err := s.asking(ctx)
	if err != nil {
		return err
	}
	defer again.Close()
	soon, cancel := context.WithCancel(ctx)
	defer cancel()
	if _, err := again.Write(soon, inference.Ask{MaxTokens: 24, OnText: func(string) { cancel() }}); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("cancelled after the first piece: got %v, want context.Canceled", err)
	}
	return s.wantClosed(ctx, "after cancelling a reply", again)
}
