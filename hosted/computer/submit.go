package computer

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"

	"edge/hosted"
	"edge/internal/fault"
)

// Submit is computer_submit: it sends what a page wanted to send, after a person has confirmed it. The dispatcher has
// seen to that; by its level it can't be called otherwise.
type Submit struct {
	env     hosted.Environment
	options options
	site    *site
}

// NewSubmit makes the hosted tool of kind computer_submit, with the options of the computer whose submissions it sends.
func NewSubmit(raw json.RawMessage, env hosted.Environment) (hosted.Tool, error) {
	o, err := readOptions(raw, env)
	if err != nil {
		return nil, err
	}
	s, err := newSite(o, env)
	if err != nil {
		return nil, err
	}
	return &Submit{env, o, s}, nil
}

// Close lets the folder of pages go.
func (t *Submit) Close() error { return t.site.close() }

// Call sends the one recorded submission that the arguments describe, in a browser of its own, and describes the page
// that comes back. What no page asked for is refused, and what was sent is forgotten. Errors: invalid_tool_args, and
// those of Tool.Call.
func (t *Submit) Call(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
	var asked request
	if err := json.Unmarshal(arguments, &asked); err != nil {
		return nil, fault.New(fault.CodeInvalidToolArgs, "computer_submit: %w", err)
	}
	s, ok, err := store{filepath.Join(folder(t.env), "submissions")}.take(asked)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fault.New(fault.CodeInvalidToolArgs, "computer_submit: no page asked to submit exactly that: %s %s", asked.Method, asked.URL)
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	b, err := launch(t.env, t.options, t.site)
	if err != nil {
		return nil, err
	}
	defer b.close()
	ctx, stop := b.within(ctx)
	defer stop()
	output, err := b.send(ctx, s)
	if err != nil {
		return nil, fault.New(fault.CodeToolRaised, "computer_submit: %w", err)
	}
	return json.Marshal(result{Output: output})
}

func (b *chromium) send(ctx context.Context, s submission) (string, error) {
	if len(s.Cookies) > 0 {
		if _, err := cdp.Call(ctx, b.target, network.SetCookies, network.SetCookiesParams{Cookies: s.Cookies}); err != nil {
			return "", err
		}
	}
	b.proxy.letThrough(s.Method, s.URL)
	b.guard.mu.Lock()
	b.guard.permit = &s
	b.guard.mu.Unlock()
	if err := b.open(ctx, s.URL); err != nil {
		return "", err
	}
	if !b.guard.wasSent() {
		return "", errors.New("nothing was sent")
	}
	b.settle(ctx)
	v, err := b.look(ctx)
	if err != nil {
		return "", err
	}
	return "submitted\n" + v.text(b.site), nil
}
