package webpage

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/text/encoding/simplifiedchinese"
)

// site serves one body per path.
func site(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	say := func(path, contentType, body string) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{contentType}
			if contentType == "" {
				w.Header()["Content-Type"] = nil
			}
			io.WriteString(w, body)
		})
	}
	say("/article", "text/html; charset=utf-8", article)
	say("/short", "text/html", "<title>Short\n one</title><body><nav>Menu</nav><h1>Hello</h1><p>A <b>small</b> page.<p>It ends.<script>alert(1)</script><footer>Imprint</footer>")
	say("/readme.md", "text/markdown; charset=utf-8", "# Readme\n\n    indented\n\n退款\n")
	say("/plain", "text/plain", "a\n  b\n")
	say("/json", "application/json", `{"a": 1}`)
	say("/untyped", "", "just text, 三十天")
	say("/octets", "application/octet-stream", "# A file on a code server\n")
	say("/pdf", "application/pdf", "%PDF-1.7 text")
	say("/hidden-pdf", "text/html", "%PDF-1.7 text")
	say("/image", "image/png", "\x89PNG\r\n\x1a\n")
	say("/zip", "application/octet-stream", "PK\x03\x04\x00\x00")
	say("/nul", "text/plain", "a\x00b")
	say("/utf16", "text/plain", "\xff\xfeo\x00k\x00")
	say("/late", "text/plain", strings.Repeat("x", 2000)+"é")
	say("/huge", "text/plain", strings.Repeat("é", maxBytes))
	say("/empty", "text/html", "")
	say("/broken", "text/html", "<html><p>unclosed <div><table><p>but <i>readable")
	gbk, err := simplifiedchinese.GBK.NewEncoder().String("<meta charset=gbk><title>退款</title><p>三十天内")
	if err != nil {
		t.Fatal(err)
	}
	say("/gbk", "text/html", gbk)
	say("/gbk-header", "text/html; charset=gb2312", strings.Replace(gbk, "<meta charset=gbk>", "", 1))
	mux.HandleFunc("GET /missing", http.NotFound)
	mux.HandleFunc("GET /hop/{n}", func(w http.ResponseWriter, r *http.Request) {
		var n int
		fmt.Sscan(r.PathValue("n"), &n)
		if n == 0 {
			io.WriteString(w, "arrived")
			return
		}
		http.Redirect(w, r, fmt.Sprintf("/hop/%d", n-1), http.StatusFound)
	})
	mux.HandleFunc("GET /to", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.FormValue("url"))
		w.WriteHeader(http.StatusFound)
	})
	mux.HandleFunc("GET /cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		io.WriteString(w, "half")
	})
	mux.HandleFunc("GET /bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		for range 64 {
			z.Write(bytes.Repeat([]byte("0"), 1<<20))
		}
		z.Close()
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

const article = `<!doctype html><html><head><title>Walruses - The Zoo</title><style>p{}</style></head><body>
<header><a href="/">Home</a> <a href="/login">Log in</a></header><nav><ul><li>Tickets</li><li>Map</li></ul></nav>
<main><article><h1>Walruses</h1>
<p>The walrus is a large flippered marine mammal with a discontinuous distribution about the North Pole in the Arctic Ocean and subarctic seas.</p>
<p>Adult walruses are characterised by prominent tusks and whiskers, and their considerable bulk: adult males can weigh more than 2,000 kilograms.</p>
<pre><code>def walrus(n):
    if (m := n):
        return m</code></pre>
<p>Walruses live mostly in shallow waters above the continental shelves, spending significant amounts of their lives on the sea ice.</p></article></main>
<footer>Imprint, cookies</footer><script>track()</script></body></html>`

func TestPagesAreRead(t *testing.T) {
	server := site(t)
	r := &Reader{AllowPrivate: true}
	for path, want := range map[string]Page{
		"/short":      {Title: "Short one", Text: "Hello\nA small page.\nIt ends."},
		"/readme.md":  {Text: "# Readme\n\n    indented\n\n退款"},
		"/plain":      {Text: "a\n  b"},
		"/json":       {Text: `{"a": 1}`},
		"/untyped":    {Text: "just text, 三十天"},
		"/octets":     {Text: "# A file on a code server"},
		"/utf16":      {Text: "ok"},
		"/late":       {Text: strings.Repeat("x", 2000) + "é"},
		"/huge":       {Text: strings.Repeat("é", DefaultChars), Truncated: true},
		"/bomb":       {Text: strings.Repeat("0", DefaultChars), Truncated: true},
		"/empty":      {},
		"/gbk":        {Title: "退款", Text: "三十天内"},
		"/gbk-header": {Title: "退款", Text: "三十天内"},
		"/broken":     {Text: "unclosed\nbut readable"},
		"/hop/5":      {URL: server.URL + "/hop/0", Text: "arrived"},
	} {
		if want.URL == "" {
			want.URL = server.URL + path
		}
		if got, err := r.Read(context.Background(), server.URL+path, 0); err != nil || got != want {
			t.Errorf("%s: %.300q, %v", path, fmt.Sprintf("%+v", got), err)
		}
	}
}

func TestAnArticleIsCutOutOfItsPage(t *testing.T) {
	server := site(t)
	r := &Reader{AllowPrivate: true}
	got, err := r.Read(context.Background(), server.URL+"/article", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"The walrus is a large", "sea ice.", "    if (m := n):\n        return m"} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("%q isn't in %q", want, got.Text)
		}
	}
	for _, no := range []string{"Tickets", "Log in", "cookies", "track"} {
		if strings.Contains(got.Text, no) {
			t.Errorf("%q is in %q", no, got.Text)
		}
	}
	if got.Title != "Walruses - The Zoo" && got.Title != "Walruses" || got.Truncated {
		t.Errorf("title %q, truncated %v", got.Title, got.Truncated)
	}
	if got, err = r.Read(context.Background(), server.URL+"/article", 20); err != nil || len([]rune(got.Text)) != 20 || !got.Truncated {
		t.Errorf("twenty characters wanted: %+v, %v", got, err)
	}
}

func TestWhatIsNoPageIsRefused(t *testing.T) {
	server := site(t)
	r := &Reader{AllowPrivate: true}
	for address, want := range map[string]string{
		server.URL + "/pdf":                       "it is a PDF",
		server.URL + "/hidden-pdf":                "it is a PDF",
		server.URL + "/image":                     "it is image/png",
		server.URL + "/zip":                       "it is application/zip",
		server.URL + "/nul":                       "only web pages and text",
		server.URL + "/missing":                   "status 404",
		server.URL + "/cut":                       "unexpected EOF",
		server.URL + "/hop/6":                     "more than 5 redirects",
		server.URL + "/to?url=file:///etc/passwd": `the scheme is "file"`,
		server.URL + "/to?url=//u:p@127.0.0.1/":   "a user's name",
		"file:///etc/passwd":                      `the scheme is "file"`,
		"ftp://example.test/x":                    `the scheme is "ftp"`,
		"example.test":                            "the scheme is",
		"http://":                                 "names no host",
		"http://u:secret@example.test/":           "a user's name",
		"http://[::1":                             "invalid url",
		"":                                        "the scheme is",
		"http://127.0.0.1:1/":                     "fetch failed",
	} {
		if got, err := r.Read(context.Background(), address, 0); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %+v, %v; want %q", address, got, err, want)
		}
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.Read(cancelled, server.URL+"/plain", 0); err == nil {
		t.Error("a page was read after its context ended")
	}
}

func TestPrivateAddressesAreNotReached(t *testing.T) {
	server := site(t)
	port := server.Listener.Addr().(interface{ AddrPort() netip.AddrPort }).AddrPort().Port()
	for _, address := range []string{
		server.URL + "/plain",
		fmt.Sprintf("http://localhost:%d/plain", port), // a name: what it resolves to counts
		fmt.Sprintf("http://[::ffff:127.0.0.1]:%d/plain", port),
		fmt.Sprintf("http://0.0.0.0:%d/plain", port),
		fmt.Sprintf("http://127.1.2.3:%d/plain", port),
		"http://169.254.169.254/latest/meta-data/",
	} {
		if got, err := (&Reader{}).Read(context.Background(), address, 0); err == nil || !strings.Contains(err.Error(), "isn't a public address") {
			t.Errorf("%s: %+v, %v", address, got, err)
		}
	}

	// A public page redirects inwards: the server's own address stands for a public one.
	first := server.Listener.Addr().String()
	inside := site(t)
	var asked []string
	r := &Reader{control: func(network, address string, c syscall.RawConn) error {
		asked = append(asked, address)
		if address == first {
			return nil
		}
		return RefusePrivate(network, address, c)
	}}
	if got, err := r.Read(context.Background(), server.URL+"/to?url="+url.QueryEscape(server.URL+"/plain"), 0); err != nil || got.Text != "a\n  b" {
		t.Errorf("to itself: %+v, %v", got, err)
	}
	if got, err := r.Read(context.Background(), server.URL+"/to?url="+url.QueryEscape(inside.URL+"/plain"), 0); err == nil || !strings.Contains(err.Error(), "isn't a public address") {
		t.Errorf("inwards: %+v, %v", got, err)
	}
	if len(asked) != 4 {
		t.Errorf("connections: %v; a kept one would not be checked again", asked)
	}
}

func TestPublic(t *testing.T) {
	for address, want := range map[string]bool{
		"1.1.1.1": true, "93.184.216.34": true, "100.63.255.255": true, "100.128.0.0": true, "172.15.0.1": true, "172.32.0.1": true, "223.255.255.255": true,
		"127.0.0.1": false, "127.255.255.254": false, "0.0.0.0": false, "0.1.2.3": false, "10.0.0.1": false, "100.64.0.1": false, "100.100.100.200": false,
		"169.254.169.254": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false, "192.0.0.192": false, "192.0.2.1": false, "198.18.0.1": false,
		"198.51.100.1": false, "203.0.113.1": false, "224.0.0.1": false, "240.0.0.1": false, "255.255.255.255": false, "168.63.129.16": false,
		"2606:4700:4700::1111": true, "2a00:1450:4001::1": true, "64:ff9b::1.1.1.1": true,
		"::1": false, "::": false, "::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::ffff:1.1.1.1": true, "fe80::1": false, "fe80::1%eth0": false, "fc00::1": false,
		"fd00:ec2::254": false, "ff02::1": false, "64:ff9b::10.0.0.1": false, "64:ff9b:1::1": false, "2002:7f00:1::": false, "2001::1": false, "2001:db8::1": false,
		"fec0::1": false, "::7f00:1": false, "100::1": false, "3fff::1": false,
	} {
		if got := public(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: got %v", address, got)
		}
	}
}
