// Package webpage fetches one page and gives the text that a person would read on it.
//
// The invariant: a connection is made to a public address or not at all, whatever names, redirects and DNS answers say.
// Refused: schemes other than http and https, addresses with a user's name in them, more than 5 redirects, and content
// that isn't text, such as PDF. Of a page longer than 2 MiB the first 2 MiB are read.
package webpage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"
)

const (
	// DefaultChars is how much text of a page is given unless another number is asked for, in characters.
	DefaultChars = 6000

	maxBytes     = 2 << 20
	maxRedirects = 5
	timeout      = 20 * time.Second
	maxHeader    = 64 << 10
	userAgent    = "Mozilla/5.0 (compatible; edge)"
)

// Page is what a page says.
type Page struct {
	// URL is where the page was in the end, after redirects.
	URL   string `json:"url"`
	Title string `json:"title"`
	Text  string `json:"text"`
	// Truncated says that the page has more text than this.
	Truncated bool `json:"truncated"`
}

// Reader reads pages. It uses no proxy, because a proxy would connect where the Reader can't see. It is safe for
// concurrent use.
type Reader struct {
	// AllowPrivate lets it read from this machine and its network; tests need that.
	AllowPrivate bool

	control func(network, address string, c syscall.RawConn) error // of the dialer, RefusePrivate if nil
}

// Read fetches address and gives at most maxChars characters of its text, DefaultChars if maxChars isn't positive.
func (r *Reader) Read(ctx context.Context, address string, maxChars int) (Page, error) {
	u, err := url.Parse(address)
	if err != nil {
		return Page{}, fmt.Errorf("invalid url: %w", err)
	}
	if err := acceptable(u); err != nil {
		return Page{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return Page{}, fmt.Errorf("invalid url: %w", err)
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", "text/html, text/plain, text/markdown, application/json, */*;q=0.1")
	resp, err := r.client().Do(req)
	if err != nil {
		return Page{}, fmt.Errorf("fetch failed: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return Page{}, fmt.Errorf("fetch failed: %s answers with status %d", resp.Request.URL.Host, resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBytes+1))
	if err != nil {
		return Page{}, fmt.Errorf("fetch failed: %w", err)
	}
	cut := len(body) > maxBytes
	title, text, err := extract(body[:min(len(body), maxBytes)], resp.Header.Get("Content-Type"), resp.Request.URL)
	if err != nil {
		return Page{}, fmt.Errorf("%s: %w", resp.Request.URL.Redacted(), err)
	}
	if maxChars <= 0 {
		maxChars = DefaultChars
	}
	short := firstChars(text, maxChars)
	return Page{URL: resp.Request.URL.String(), Title: title, Text: short, Truncated: cut || len(short) < len(text)}, nil
}

// acceptable reports why an address isn't one that a page is read from.
func acceptable(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("invalid url: the scheme is %q, want http or https", u.Scheme)
	case u.Hostname() == "":
		return errors.New("invalid url: it names no host")
	case u.User != nil:
		return errors.New("invalid url: it has a user's name in it")
	}
	return nil
}

func (r *Reader) client() *http.Client {
	dialer := &net.Dialer{Timeout: timeout, Control: r.control}
	if r.control == nil && !r.AllowPrivate {
		dialer.Control = RefusePrivate
	}
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeader,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			return acceptable(req.URL)
		},
	}
}
