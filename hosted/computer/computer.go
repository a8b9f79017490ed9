package computer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"

	"edge/hosted"
	"edge/internal/atomicfile"
	"edge/internal/digest"
	"edge/internal/fault"
)

// callLimit is how long one action may take.
const callLimit = 30 * time.Second

// Tool is computer_use_preview: one browser with one page, from the first call to Close.
type Tool struct {
	env     hosted.Environment
	options options
	site    *site

	mu      sync.Mutex
	browser *chromium // nil before the first call and after a failure
}

// screenshot names a picture of the page, a PNG file of the user's own.
type screenshot struct {
	Path   string        `json:"path"`
	Bytes  int           `json:"bytes"`
	SHA256 digest.SHA256 `json:"sha256"`
}

// result is what a call gives.
type result struct {
	// Output is for the model: what happened, and the page.
	Output     string      `json:"output"`
	Screenshot *screenshot `json:"screenshot,omitempty"`
	// Refused are the submissions that were stopped, each with what computer_submit would send.
	Refused []request `json:"refused,omitempty"`
}

// New makes the hosted tool of kind computer. The browser starts with the first call. Errors: invalid_tool_metadata,
// network_not_allowed.
func New(raw json.RawMessage, env hosted.Environment) (hosted.Tool, error) {
	o, err := readOptions(raw, env)
	if err != nil {
		return nil, err
	}
	s, err := newSite(o, env)
	if err != nil {
		return nil, err
	}
	return &Tool{env: env, options: o, site: s}, nil
}

// Close ends the browser, if it runs.
func (t *Tool) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return errors.Join(t.endBrowser(), t.site.close())
}

func (t *Tool) endBrowser() error {
	b := t.browser
	t.browser = nil
	if b == nil {
		return nil
	}
	return b.close()
}

// Call performs one action. Errors: browser_not_found, sandbox_unavailable, network_not_allowed, tool_raised where the
// browser failed or the page didn't answer, cancelled.
func (t *Tool) Call(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
	var a action
	if err := json.Unmarshal(arguments, &a); err != nil {
		return nil, fault.New(fault.CodeInvalidToolArgs, "computer_use_preview: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	r, err := t.call(ctx, a)
	if err != nil {
		return nil, err
	}
	return json.Marshal(r)
}

func (t *Tool) call(ctx context.Context, a action) (r result, err error) {
	if err := t.start(ctx); err != nil {
		return r, err
	}
	b := t.browser
	ctx, stop := b.within(ctx)
	defer stop()
	said := ""
	if err := b.do(ctx, a); lesson(err) {
		said = "error: " + err.Error() + "\n"
	} else if err != nil {
		return r, t.failed(ctx, err)
	}
	b.settle(ctx)
	v, err := b.look(ctx)
	if err != nil {
		return r, t.failed(ctx, err)
	}
	refused, blocked := b.guard.drain()
	for _, s := range refused {
		if s.Unconfirmable == "" {
			if err := (store{filepath.Join(folder(t.env), "submissions")}).put(s); err != nil {
				return r, err
			}
			r.Refused = append(r.Refused, s.request)
		}
		said += "error: " + s.refusal() + "\n"
	}
	for _, text := range unique(blocked) {
		said += "error: not loaded: " + text + "\n"
	}
	if a.Action == "screenshot" {
		if r.Screenshot, err = t.picture(ctx); err != nil {
			return r, t.failed(ctx, err)
		}
		said += fmt.Sprintf("screenshot saved: %s\n", r.Screenshot.Path)
	}
	r.Output = said + v.text(t.site)
	return r, nil
}

// lesson reports whether a model can learn from err.
func lesson(err error) bool {
	var told errTold
	var noPage errNoPage
	return errors.As(err, &told) || errors.As(err, &noPage)
}

// refusal says that nothing was sent, and how it can be.
func (s submission) refusal() string {
	text := fmt.Sprintf("nothing was sent: the page wanted to submit %s %s", s.Method, s.URL)
	if s.Unconfirmable != "" {
		return text + "; it can't be confirmed: " + s.Unconfirmable
	}
	with, err := json.Marshal(s.request)
	if err != nil {
		return text
	}
	return text + "; a person must confirm it: call computer_submit with " + string(with)
}

func unique(list []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, text := range list {
		if !seen[text] {
			seen[text] = true
			out = append(out, text)
		}
	}
	return out
}

// start starts the browser and opens the first page.
func (t *Tool) start(ctx context.Context) error {
	if t.browser != nil && t.browser.ctx.Err() == nil {
		return nil
	}
	t.endBrowser()
	b, err := launch(t.env, t.options, t.site)
	if err != nil {
		return err
	}
	t.browser = b
	if t.options.StartURL == "" || t.options.StartURL == "about:blank" {
		return nil
	}
	ctx, stop := b.within(ctx)
	defer stop()
	address, err := b.site.resolve(t.options.StartURL)
	if err == nil {
		err = b.open(ctx, address)
	}
	if lesson(err) {
		err = fault.New(fault.CodeInvalidToolMetadata, "ComputerTool: start_url: %w", err)
	}
	if err != nil {
		t.endBrowser()
		return err
	}
	b.settle(ctx)
	return nil
}

// within is the browser's context, ended with ctx.
func (b *chromium) within(ctx context.Context) (context.Context, context.CancelFunc) {
	inner, cancel := context.WithCancelCause(b.ctx)
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	return inner, func() { stop(); cancel(nil) }
}

// failed ends a browser that did, or a page that doesn't answer; the next call begins anew.
func (t *Tool) failed(ctx context.Context, err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	cause := context.Cause(ctx)
	t.endBrowser()
	switch {
	case errors.Is(cause, context.DeadlineExceeded):
		return fault.New(fault.CodeToolRaised, "the page didn't answer within %v", callLimit)
	case cause != nil:
		return fault.New(fault.CodeCancelled, "computer_use_preview: %w", cause)
	}
	return fault.New(fault.CodeToolRaised, "the browser: %w", err)
}

// picture saves what the page looks like.
func (t *Tool) picture(ctx context.Context) (*screenshot, error) {
	got, err := cdp.Call(ctx, t.browser.target, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng})
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(folder(t.env), "screenshots")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	sum := digest.SHA256Of(got.Data)
	path := filepath.Join(dir, strings.TrimPrefix(sum.String(), "sha256:")+".png")
	if err := atomicfile.WriteBytes(path, 0o600, got.Data); err != nil {
		return nil, err
	}
	return &screenshot{path, len(got.Data), sum}, nil
}
