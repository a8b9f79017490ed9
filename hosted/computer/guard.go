package computer

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
)

// guard decides about each request of the page before it leaves the browser. What would submit something is failed and
// recorded.
type guard struct {
	b   *chromium
	own target.ID // the page's target

	mu      sync.Mutex
	stated  map[statement]page.ClientNavigationReason // why a frame is about to open an address, as the page's process says
	changed chan struct{}                             // closed, and replaced, with each statement
	refused []submission
	blocked []string    // what the page may not reach
	permit  *submission // a confirmed submission that hasn't been sent
	sent    bool        // it has
}

// statement is what a frame is about to open.
type statement struct {
	frame cdp.FrameID
	url   string // without a fragment
}

func state(frame cdp.FrameID, address string) statement {
	address, _, _ = strings.Cut(address, "#")
	return statement{frame, address}
}

// ours is the reason for what edge itself opens.
const ours page.ClientNavigationReason = "edge"

const maxStated = 256

// statementLimit is how long the statement of a request that is there already may take.
const statementLimit = 3 * time.Second

func newGuard(b *chromium) *guard {
	return &guard{b: b, stated: map[statement]page.ClientNavigationReason{}, changed: make(chan struct{})}
}

// expect has a frame's navigation stated.
func (g *guard) expect(frame cdp.FrameID, address string, why page.ClientNavigationReason) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.stated) >= maxStated { // of what never became a request
		clear(g.stated)
	}
	g.stated[state(frame, address)] = why
	close(g.changed)
	g.changed = make(chan struct{})
}

// reason waits until it is stated why a frame opens an address, and forgets it.
func (g *guard) reason(ctx context.Context, frame cdp.FrameID, address string) (page.ClientNavigationReason, bool) {
	limit := time.After(statementLimit)
	for {
		g.mu.Lock()
		why, ok := g.stated[state(frame, address)]
		delete(g.stated, state(frame, address))
		changed := g.changed
		g.mu.Unlock()
		if ok {
			return why, true
		}
		select {
		case <-changed:
		case <-limit:
			return "", false
		case <-ctx.Done():
			return "", false
		}
	}
}

// hear takes every event of the page, in order, and must not wait.
func (g *guard) hear(event any) {
	switch e := event.(type) {
	case *page.EventFrameRequestedNavigation:
		g.expect(e.FrameID, e.URL, e.Reason)
	case *fetch.EventRequestPaused:
		go g.decide(e)
	case *page.EventJavascriptDialogOpening:
		// The policy forbids all but one: leaving a page is allowed.
		go cdp.Call(g.b.ctx, g.b.target, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: e.Type == page.DialogTypeBeforeunload})
	case *target.EventTargetCreated:
		if e.TargetInfo.Type == "page" && g.own != "" && e.TargetInfo.TargetID != g.own {
			go cdp.Call(g.b.ctx, g.b.target, target.CloseTarget, target.CloseTargetParams{TargetID: e.TargetInfo.TargetID})
		}
	}
}

func (g *guard) decide(e *fetch.EventRequestPaused) {
	ctx, cancel := context.WithTimeout(g.b.ctx, 20*time.Second)
	defer cancel()
	if e.ResponseStatusCode != 0 || e.ResponseErrorReason != "" {
		g.restrict(ctx, e)
		return
	}
	if change, ok := g.verdict(ctx, e); ok {
		cdp.Call(ctx, g.b.target, fetch.ContinueRequest, change)
		return
	}
	g.fail(ctx, e)
}

func (g *guard) fail(ctx context.Context, e *fetch.EventRequestPaused) {
	why := network.ErrorReasonBlockedByClient
	if e.ResourceType == network.ResourceTypeDocument {
		why = network.ErrorReasonAborted // the page stays as it is, and no error page comes in its place
	}
	cdp.Call(ctx, g.b.target, fetch.FailRequest, fetch.FailRequestParams{RequestID: e.RequestID, ErrorReason: why})
}

// paused are the moments at which the guard is asked: each request, and each page before it is used.
func paused() []*fetch.RequestPattern {
	return []*fetch.RequestPattern{
		{URLPattern: "*", RequestStage: fetch.RequestStageRequest},
		{URLPattern: "*", ResourceType: network.ResourceTypeDocument, RequestStage: fetch.RequestStageResponse},
	}
}

// policy is what the browser holds every page and its frames to: no windows, downloads and dialogs, no workers, no sockets.
const policy = "sandbox allow-scripts allow-same-origin allow-forms; worker-src 'none'; connect-src http: https: data: blob:"

// restrict lets a page through with the policy added to its own. The answer is given anew, with the same content: one
// that is only continued has had its policies read already.
func (g *guard) restrict(ctx context.Context, e *fetch.EventRequestPaused) {
	if e.ResponseStatusCode == 0 || e.ResponseStatusCode >= 300 && e.ResponseStatusCode < 400 {
		cdp.Call(ctx, g.b.target, fetch.ContinueResponse, fetch.ContinueResponseParams{RequestID: e.RequestID})
		return
	}
	got, err := cdp.Call(ctx, g.b.target, fetch.GetResponseBody, fetch.GetResponseBodyParams{RequestID: e.RequestID})
	if err != nil {
		g.fail(ctx, e)
		return
	}
	cdp.Call(ctx, g.b.target, fetch.FulfillRequest, fetch.FulfillRequestParams{
		RequestID: e.RequestID, ResponseCode: e.ResponseStatusCode, ResponsePhrase: e.ResponseStatusText, Body: got.Body,
		ResponseHeaders: append(e.ResponseHeaders, &fetch.HeaderEntry{Name: "Content-Security-Policy", Value: policy}),
	})
}

// verdict says whether a request may go on, and changed how.
func (g *guard) verdict(ctx context.Context, e *fetch.EventRequestPaused) (fetch.ContinueRequestParams, bool) {
	as := fetch.ContinueRequestParams{RequestID: e.RequestID}
	u, err := url.Parse(e.Request.URL)
	if err != nil {
		return as, false
	}
	if err := g.b.site.allows(u); err != nil {
		g.note(err.Error())
		return as, false
	}
	if e.Request.Method != http.MethodGet && e.Request.Method != http.MethodHead || e.Request.HasPostData {
		g.refuse(ctx, e)
		return as, false
	}
	if e.ResourceType != network.ResourceTypeDocument || e.RedirectedRequestID != "" {
		return as, true
	}
	if s := g.take(e.Request.URL); s != nil {
		return s.replace(e), true
	}
	// The request comes from the browser's process, and why it is made from the page's: either may come first.
	why, ok := g.reason(ctx, e.FrameID, e.Request.URL)
	if !ok {
		g.note("nothing says why the page opens " + g.b.site.shown(e.Request.URL))
		return as, false
	}
	if why == page.ClientNavigationReasonFormSubmissionGet {
		g.refuse(ctx, e)
		return as, false
	}
	return as, true
}

// take gives the confirmed submission if address is its own, once.
func (g *guard) take(address string) *submission {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.permit
	if s == nil || s.URL != address {
		return nil
	}
	g.permit, g.sent = nil, true
	return s
}

func (g *guard) refuse(ctx context.Context, e *fetch.EventRequestPaused) {
	s := newSubmission(e)
	if got, err := cdp.Call(ctx, g.b.target, network.GetCookies, network.GetCookiesParams{URLs: []string{e.Request.URL}}); err == nil {
		s.keepCookies(got.Cookies)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refused = append(g.refused, s)
}

func (g *guard) note(text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.blocked = append(g.blocked, text)
}

func (g *guard) wasSent() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sent
}

// drain gives what was refused and blocked since it was last asked.
func (g *guard) drain() (refused []submission, blocked []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	refused, blocked = g.refused, g.blocked
	g.refused, g.blocked = nil, nil
	return refused, blocked
}
