// Package websearch searches the web at DuckDuckGo's two pages for simple browsers, lite first and then html, which need
// no key. Each is asked three times with growing pauses; a status 202 is how they say that they are asked too often.
//
// The invariant: what a page holds is bounded (2 MiB, 15 seconds) and only read, never followed: results are titles,
// addresses and snippets. Advertisements and links to the search engine itself are left out.
package websearch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// MaxResults is the most that one search gives, DefaultResults what it gives unless another number is asked for.
	MaxResults     = 10
	DefaultResults = 6

	liteAddress = "https://lite.duckduckgo.com/lite/"
	htmlAddress = "https://html.duckduckgo.com/html/"
	noRegion    = "wt-wt"

	attempts     = 3
	pause        = 1500 * time.Millisecond
	maxPage      = 2 << 20
	pageTimeout  = 15 * time.Second
	maxRedirects = 5
	userAgent    = "Mozilla/5.0 (compatible; edge)"
)

// Result is one page that a search found.
type Result struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Snippet string `json:"snippet"`
}

// Client searches. The zero Client asks DuckDuckGo; it is safe for concurrent use.
type Client struct {
	// HTTP sends the requests; nil makes one that honours the environment's proxies.
	HTTP *http.Client
	// Lite and HTML are the addresses of the two pages; DuckDuckGo's own where empty.
	Lite, HTML string
	// Region is a code of DuckDuckGo's such as "de-de"; empty for no region.
	Region string
	// Sleep waits between attempts, and gives the context's error if that ends first; nil for a real one.
	Sleep func(ctx context.Context, d time.Duration) error

	timeout time.Duration // of one attempt, pageTimeout if 0
}

// Why an attempt gave nothing.
var (
	errNoResults = errors.New("no results")
	errLimited   = errors.New("rate limited")
)

// Search gives at most num results (see ClampCount), the best first. It fails for an empty query, when ctx ends, and when
// every attempt failed; the error then says why the last one did.
func (c *Client) Search(ctx context.Context, query string, num int) ([]Result, error) {
	query = strings.TrimSpace(query)
	if query == "" {
		return nil, errors.New("the search query is empty")
	}
	pages := []page{{cmp.Or(c.Lite, liteAddress), parseLite}, {cmp.Or(c.HTML, htmlAddress), parseHTML}}
	var last error
	for p, at := range pages {
		for attempt := 1; attempt <= attempts; attempt++ {
			results, err := c.ask(ctx, at, query, ClampCount(num))
			if err == nil {
				return results, nil
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			last = err
			if p == len(pages)-1 && attempt == attempts {
				break
			}
			if err := c.sleep(ctx, time.Duration(attempt)*pause); err != nil {
				return nil, err
			}
		}
	}
	return nil, fmt.Errorf("search failed: %w", last)
}

// page is one of the two pages, and how its results are read.
type page struct {
	address string
	parse   func(body io.Reader, num int) ([]Result, error)
}

func (c *Client) ask(ctx context.Context, at page, query string, num int) ([]Result, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.timeout, pageTimeout))
	defer cancel()
	form := url.Values{"q": {query}, "kl": {cmp.Or(c.Region, noRegion)}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at.address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("User-Agent", userAgent)
	resp, err := c.http().Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusAccepted:
		return nil, fmt.Errorf("%w (202)", errLimited)
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	body := &io.LimitedReader{R: resp.Body, N: maxPage + 1}
	results, err := at.parse(body, num)
	switch {
	case body.N == 0:
		return nil, fmt.Errorf("a page of more than %d bytes", maxPage)
	case err != nil:
		return nil, err
	case len(results) == 0:
		return nil, errNoResults
	}
	return results, nil
}

func (c *Client) http() *http.Client {
	if c.HTTP != nil {
		return c.HTTP
	}
	return &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: pageTimeout, DisableKeepAlives: true},
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			return nil
		},
	}
}

func (c *Client) sleep(ctx context.Context, d time.Duration) error {
	if c.Sleep != nil {
		return c.Sleep(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
