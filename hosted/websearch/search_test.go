package websearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edge/hosted"
	"edge/internal/fault"
)

// engine imitates both pages of the search engine; each answer of a page is taken from its script, the last one again.
type engine struct {
	t      *testing.T
	server *httptest.Server
	mu     sync.Mutex
	lite   []http.HandlerFunc
	html   []http.HandlerFunc
	asked  []string // "lite q kl"
	slept  []time.Duration
}

func newEngine(t *testing.T) *engine {
	e := &engine{t: t}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /lite/", func(w http.ResponseWriter, r *http.Request) { e.next("lite", &e.lite, w, r) })
	mux.HandleFunc("POST /html/", func(w http.ResponseWriter, r *http.Request) { e.next("html", &e.html, w, r) })
	e.server = httptest.NewServer(mux)
	t.Cleanup(e.server.Close)
	return e
}

func (e *engine) next(page string, script *[]http.HandlerFunc, w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	e.asked = append(e.asked, page+" "+r.FormValue("q")+" "+r.FormValue("kl"))
	answer := (*script)[0]
	if len(*script) > 1 {
		*script = (*script)[1:]
	}
	e.mu.Unlock()
	answer(w, r)
}

func (e *engine) client() *Client {
	return &Client{Lite: e.server.URL + "/lite/", HTML: e.server.URL + "/html/", Sleep: func(_ context.Context, d time.Duration) error {
		e.slept = append(e.slept, d)
		return nil
	}}
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=UTF-8")
		io.WriteString(w, text)
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

type hit struct {
	title, href, snippet string
	ad                   bool
}

func redirect(to string) string {
	return "//duckduckgo.com/l/?uddg=" + url.QueryEscape(to) + "&rut=0123456789abcdef"
}

func litePage(hits ...hit) string {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><html><head><title>q at DuckDuckGo</title></head><body><form action="/lite/" method="post">
		<a href="https://duckduckgo.com/about">DuckDuckGo</a><input class="query" name="q"></form><table border="0">`)
	for i, h := range hits {
		row := "<tr>"
		if h.ad {
			row = `<tr class="result-sponsored">`
		}
		fmt.Fprintf(&b, `%s<td valign="top">%d.&nbsp;</td><td><a rel="nofollow" href="%s" class='result-link'>%s</a></td></tr>`, row, i+1, html.EscapeString(h.href), h.title)
		if h.snippet != "" {
			fmt.Fprintf(&b, "%s<td>&nbsp;</td><td class='result-snippet'>\n  %s</td></tr>", row, h.snippet)
		}
		fmt.Fprintf(&b, `%s<td></td><td><span class='link-text'>host</span></td></tr><tr><td>&nbsp;</td></tr>`, row)
	}
	b.WriteString(`</table><form action="/lite/" method="post"><input type="submit" value="Next Page &gt;"></form></body></html>`)
	return b.String()
}

func htmlPage(hits ...hit) string {
	var b strings.Builder
	b.WriteString(`<html><body><div id="header"><a href="/html/">DuckDuckGo</a></div><div class="serp__results"><div id="links" class="results">`)
	for _, h := range hits {
		class := "result results_links results_links_deep web-result "
		if h.ad {
			class = "result results_links results_links_deep result--ad "
		}
		fmt.Fprintf(&b, `<div class="%s"><div class="links_main links_deep result__body"><h2 class="result__title"><a rel="nofollow" class="result__a" href="%s">%s</a></h2>
			<div class="result__extras"><a class="result__url" href="#">host</a></div>`, class, html.EscapeString(h.href), h.title)
		if h.snippet != "" {
			fmt.Fprintf(&b, `<a class="result__snippet" href="%s">%s</a>`, html.EscapeString(h.href), h.snippet)
		}
		b.WriteString(`</div></div>`)
	}
	b.WriteString(`</div></div></body></html>`)
	return b.String()
}

func hits() []hit {
	return []hit{
		{"Buy &amp; fly", "https://duckduckgo.com/y.js?ad_domain=shop.test&u3=https%3A%2F%2Fshop.test", "An ad", true},
		{"First <b>page</b>", redirect("https://one.test/a?b=1&c=%20d"), "About\n <b>walruses</b> &amp; seals", false},
		{"第二頁", "https://two.test/頁", "", false},
		{"The first again", redirect("https://one.test/a?b=1&c=%20d"), "Twice", false},
		{"Not an address", "javascript:alert(1)", "", false},
		{"Ours", "https://duckduckgo.com/settings", "", false},
		{"A redirect to an ad", redirect("https://duckduckgo.com/y.js?ad_domain=shop.test"), "", false},
		{"", "https://untitled.test/", "", false},
		{"Third", "http://three.test/", "Last", false},
	}
}

func wantResults() []Result {
	return []Result{
		{"First page", "https://one.test/a?b=1&c=%20d", "About walruses & seals"},
		{"第二頁", "https://two.test/%E9%A0%81", ""},
		{"Third", "http://three.test/", "Last"},
	}
}

func TestBothPagesAreRead(t *testing.T) {
	for _, page := range []string{"lite", "html"} {
		t.Run(page, func(t *testing.T) {
			e := newEngine(t)
			e.lite, e.html = []http.HandlerFunc{says(litePage(hits()...))}, []http.HandlerFunc{says(htmlPage(hits()...))}
			if page == "html" {
				e.lite = []http.HandlerFunc{status(500)}
			}
			got, err := e.client().Search(context.Background(), "  walrus ", 10)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(wantResults(), got); d != "" {
				t.Error(d)
			}
			if last := e.asked[len(e.asked)-1]; last != page+" walrus wt-wt" {
				t.Errorf("asked %q", e.asked)
			}
			if got, err := e.client().Search(context.Background(), "walrus", 2); err != nil || len(got) != 2 {
				t.Errorf("two wanted: %v, %v", got, err)
			}
		})
	}
}

func TestALitePageWithOtherClassesIsRead(t *testing.T) {
	page := strings.ReplaceAll(litePage(hits()...), "result-link", "r")
	e := newEngine(t)
	e.lite = []http.HandlerFunc{says(page)}
	got, err := e.client().Search(context.Background(), "walrus", 10)
	if err != nil || len(got) != 3 || got[0].URL != wantResults()[0].URL {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestAttemptsAndPauses(t *testing.T) {
	good := says(litePage(hits()...))
	goodHTML := says(htmlPage(hits()...))
	cut := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100000")
		good(w, r)
	}
	huge := func(w http.ResponseWriter, _ *http.Request) {
		for range 3 << 10 {
			io.WriteString(w, strings.Repeat("<p>walrus</p>\n", 80)+"\n")
		}
	}
	loop := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/lite/", http.StatusTemporaryRedirect)
	}
	captcha := says(`<html><body><div class="anomaly-modal__title">Unfortunately, bots use it too.</div></body></html>`)
	s := time.Second
	steps := []time.Duration{1500 * time.Millisecond, 3 * s, 4500 * time.Millisecond, 1500 * time.Millisecond, 3 * s}
	for _, tt := range []struct {
		name   string
		lite   []http.HandlerFunc
		html   []http.HandlerFunc
		asked  string
		slept  []time.Duration
		failed string
	}{
		{"at once", []http.HandlerFunc{good}, nil, "lite", nil, ""},
		{"rate limited twice", []http.HandlerFunc{status(202), status(202), good}, nil, "lite lite lite", steps[:2], ""},
		{"the other page", []http.HandlerFunc{status(202)}, []http.HandlerFunc{goodHTML}, "lite lite lite html", steps[:3], ""},
		{"an empty page, then a good one", []http.HandlerFunc{says(litePage()), good}, nil, "lite lite", steps[:1], ""},
		{"a cut body", []http.HandlerFunc{cut, good}, nil, "lite lite", steps[:1], ""},
		{"a huge page", []http.HandlerFunc{huge, good}, nil, "lite lite", steps[:1], ""},
		{"rate limited for ever", []http.HandlerFunc{status(202)}, []http.HandlerFunc{status(202)}, "lite lite lite html html html", steps, "search failed: rate limited (202)"},
		{"a page that asks for a person", []http.HandlerFunc{captcha}, []http.HandlerFunc{captcha}, "lite lite lite html html html", steps, "search failed: rate limited (a page asks for a person)"},
		{"down", []http.HandlerFunc{status(500)}, []http.HandlerFunc{status(503)}, "lite lite lite html html html", steps, "search failed: status 503"},
		{"nothing found", []http.HandlerFunc{says(litePage())}, []http.HandlerFunc{says(htmlPage())}, "lite lite lite html html html", steps, "search failed: no results"},
		{"always huge", []http.HandlerFunc{status(500)}, []http.HandlerFunc{huge}, "lite lite lite html html html", steps, "search failed: a page of more than 2097152 bytes"},
		{"a cut body for ever", []http.HandlerFunc{status(500)}, []http.HandlerFunc{cut}, "lite lite lite html html html", steps, "search failed: unexpected EOF"},
		{"redirects for ever", []http.HandlerFunc{loop}, []http.HandlerFunc{goodHTML}, strings.Repeat("lite ", 18) + "html", steps[:3], ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newEngine(t)
			e.lite, e.html = tt.lite, tt.html
			got, err := e.client().Search(context.Background(), "walrus", 6)
			switch {
			case tt.failed == "" && (err != nil || len(got) != 3):
				t.Errorf("got %v, %v", got, err)
			case tt.failed != "" && (err == nil || err.Error() != tt.failed):
				t.Errorf("got %v, want %q", err, tt.failed)
			}
			var asked []string
			for _, a := range e.asked {
				asked = append(asked, strings.Fields(a)[0])
			}
			if strings.Join(asked, " ") != tt.asked {
				t.Errorf("asked %v, want %s", asked, tt.asked)
			}
			if !slices.Equal(e.slept, tt.slept) {
				t.Errorf("slept %v, want %v", e.slept, tt.slept)
			}
		})
	}
}

func TestASlowPageIsGivenUp(t *testing.T) {
	e := newEngine(t)
	release := make(chan struct{})
	defer close(release)
	slow := func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-release:
		}
	}
	e.lite, e.html = []http.HandlerFunc{slow}, []http.HandlerFunc{says(htmlPage(hits()...))}
	c := e.client()
	c.timeout = 50 * time.Millisecond
	if got, err := c.Search(context.Background(), "walrus", 6); err != nil || len(got) != 3 || len(e.asked) != 4 {
		t.Errorf("got %v, %v after %v", got, err, e.asked)
	}
}

func TestAnEndedContextEndsTheSearch(t *testing.T) {
	e := newEngine(t)
	e.lite = []http.HandlerFunc{status(202)}
	ctx, cancel := context.WithCancel(context.Background())
	c := e.client()
	c.Sleep = func(ctx context.Context, _ time.Duration) error { cancel(); return ctx.Err() }
	if _, err := c.Search(ctx, "walrus", 6); !errors.Is(err, context.Canceled) || len(e.asked) != 1 {
		t.Errorf("got %v after %v", err, e.asked)
	}
	c.Sleep = nil // the real one
	if _, err := c.Search(ctx, "walrus", 6); !errors.Is(err, context.Canceled) || len(e.asked) != 1 {
		t.Errorf("got %v after %v", err, e.asked)
	}
	if _, err := c.Search(context.Background(), " \n", 6); err == nil || len(e.asked) != 1 {
		t.Errorf("an empty query: got %v after %v", err, e.asked)
	}
}

func TestClampCount(t *testing.T) {
	for _, tt := range []struct {
		v    any
		want int
	}{
		{nil, 6}, {3, 3}, {0, 6}, {-4, 1}, {11, 10}, {2.9, 2}, {0.5, 1}, {1e300, 10}, {-1e300, 1}, {math.NaN(), 6}, {math.Inf(1), 6},
		{"5", 5}, {" 5 ", 5}, {"0", 1}, {"five", 6}, {"2.5", 6}, {"", 6}, {json.Number("4"), 4}, {json.Number("4.7"), 4}, {json.Number("x"), 6},
		{true, 6}, {[]any{3}, 6}, {map[string]any{}, 6},
	} {
		if got := ClampCount(tt.v); got != tt.want {
			t.Errorf("%T %v: got %d, want %d", tt.v, tt.v, got, tt.want)
		}
	}
}

func TestTheHostedTool(t *testing.T) {
	e := newEngine(t)
	e.lite, e.html = []http.HandlerFunc{says(litePage(hits()...))}, []http.HandlerFunc{says(htmlPage())}
	names := map[string]string{LiteVariable: e.server.URL + "/lite/", HTMLVariable: e.server.URL + "/html/"}
	env := hosted.Environment{Getenv: func(name string) string { return names[name] }}
	call := func(options string) (string, error) {
		tool, err := Open(json.RawMessage(options), env)
		if err != nil {
			return "", err
		}
		defer tool.Close()
		tool.(interface{ sleepless() }).sleepless()
		raw, err := tool.Call(context.Background(), json.RawMessage(`{"query":"walrus"}`))
		return string(raw), err
	}

	const plain = `{"user_location":null,"search_context_size":"low"}`
	_, err := call(plain)
	if !fault.Is(err, fault.CodeNetworkNotAllowed) || !strings.Contains(err.Error(), "--allow-network") || len(e.asked) != 0 {
		t.Errorf("without network: %v, asked %v", err, e.asked)
	}
	env.AllowNetwork = true
	got, err := call(plain)
	if err != nil || strings.Count(got, `"url"`) != 3 {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := call(`{"user_location":{"type":"approximate","country":"de","city":"Köln"},"search_context_size":"high"}`); err != nil {
		t.Error(err)
	}
	if want := []string{"lite walrus wt-wt", "lite walrus de-de"}; !slices.Equal(e.asked, want) {
		t.Errorf("asked %v, want %v", e.asked, want)
	}
	e.lite = []http.HandlerFunc{says(litePage())}
	if got, err := call(plain); err != nil || got != `{"results":[],"note":"search failed: no results"}` {
		t.Errorf("nothing found: %s, %v", got, err)
	}
	for _, options := range []string{`{"search_context_size":"huge"}`, `{}`, `{"search_context_size":"low","filters":{}}`} {
		if _, err := call(options); !fault.Is(err, fault.CodeInvalidToolMetadata) {
			t.Errorf("%s: %v", options, err)
		}
	}
}

// sleepless has the tool's client pause for nothing.
func (t *tool) sleepless() {
	t.client.Sleep = func(context.Context, time.Duration) error { return nil }
}
