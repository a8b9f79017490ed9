package websearch

import (
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/PuerkitoBio/goquery"
)

// parseLite reads the page of tables: a row with the link, and in a row below it the snippet.
func parseLite(body io.Reader, num int) ([]Result, error) {
	doc, err := goquery.NewDocumentFromReader(body)
	if err != nil {
		return nil, err
	}
	links := doc.Find("a.result-link")
	if links.Length() == 0 {
		links = doc.Find("a[href]") // the class has changed before; a result is still a link to elsewhere
	}
	var found list
	links.EachWithBreak(func(_ int, a *goquery.Selection) bool {
		row := a.Closest("tr")
		if !row.HasClass("result-sponsored") {
			snippet := row.NextUntilSelection(row.NextAll().Has("a.result-link").First()).Find(".result-snippet").First()
			found.add(a, snippet)
		}
		return len(found.results) < num
	})
	return found.orRefused(doc)
}

// parseHTML reads the page of blocks.
func parseHTML(body io.Reader, num int) ([]Result, error) {
	doc, err := goquery.NewDocumentFromReader(body)
	if err != nil {
		return nil, err
	}
	var found list
	doc.Find(".result").EachWithBreak(func(_ int, block *goquery.Selection) bool {
		if !block.HasClass("result--ad") {
			found.add(block.Find("a.result__a").First(), block.Find(".result__snippet").First())
		}
		return len(found.results) < num
	})
	return found.orRefused(doc)
}

// list collects results, each address once.
type list struct{ results []Result }

func (l *list) add(a, snippet *goquery.Selection) {
	address, ok := target(a.AttrOr("href", ""))
	title := oneLine(a.Text())
	if !ok || title == "" {
		return
	}
	for _, r := range l.results {
		if r.URL == address {
			return
		}
	}
	l.results = append(l.results, Result{Title: title, URL: address, Snippet: oneLine(snippet.Text())})
}

// orRefused gives the results, unless there are none because the page asks whether a person is there.
func (l *list) orRefused(doc *goquery.Document) ([]Result, error) {
	if len(l.results) == 0 && doc.Find("[class*=anomaly]").Length() > 0 {
		return nil, fmt.Errorf("%w (a page asks for a person)", errLimited)
	}
	return l.results, nil
}

// target is where a link of a results page leads: itself, or what a redirect link (/l/?uddg=…) carries. Links to the
// search engine itself, which advertisements go through, lead nowhere.
func target(href string) (string, bool) {
	u, err := url.Parse(href)
	if err != nil {
		return "", false
	}
	ours := u.Host == "" || isDuckDuckGo(u.Hostname())
	if ours && strings.TrimSuffix(u.Path, "/") == "/l" {
		if u, err = url.Parse(u.Query().Get("uddg")); err != nil {
			return "", false
		}
		ours = isDuckDuckGo(u.Hostname())
	}
	if ours || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", false
	}
	return u.String(), true
}

func isDuckDuckGo(host string) bool {
	host = strings.ToLower(host)
	return host == "duckduckgo.com" || strings.HasSuffix(host, ".duckduckgo.com")
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
