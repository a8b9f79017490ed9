package computer

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"edge/internal/fault"
)

// after performs arguments and gives the first result that tells of a refused submission: the page may take a moment.
func refusedAfter(t *testing.T, tool *Tool, arguments string) result {
	t.Helper()
	r := does(t, tool, arguments)
	for range 50 {
		if strings.Contains(r.Output, "nothing was sent") {
			return r
		}
		r = does(t, tool, `{"action":"wait","ms":100}`)
	}
	t.Fatalf("%s: nothing was refused:\n%s", arguments, r.Output)
	return r
}

func TestWhatSubmitsIsRefusedAndRecorded(t *testing.T) {
	// Each page submits in its own way with a click on its first element, or by itself.
	tests := map[string]struct {
		page string
		want request // URL without the server's address
		keys string  // what is pressed instead of the click
	}{
		"click":     {page: `<form method=post action=/buy><button>Go</button><input name=item value="tea &amp; milk"></form>`, want: request{"POST", "/buy", "item=tea+%26+milk"}},
		"enter":     {page: `<form method=post action=/buy><input name=item value=tea autofocus></form>`, want: request{"POST", "/buy", "item=tea"}, keys: `["Enter"]`},
		"call":      {page: `<button onclick="f.submit()">Go</button><form id=f method=post action=/buy><input name=item value=tea></form>`, want: request{"POST", "/buy", "item=tea"}},
		"parts":     {page: `<form method=post enctype=multipart/form-data action=/buy><button>Go</button><input name=item value="a b"></form>`, want: request{"POST", "/buy", "item=a+b"}},
		"get":       {page: `<form action=/find><button>Go</button><input name=q value=tea></form>`, want: request{"GET", "/find?q=tea", ""}},
		"get-call":  {page: `<button onclick="f.submit()">Go</button><form id=f action=/find><input name=q value=tea></form>`, want: request{"GET", "/find?q=tea", ""}},
		"get-frame": {page: `<form action=/find target=inner><button>Go</button><input name=q value=tea></form><iframe name=inner></iframe>`, want: request{"GET", "/find?q=tea", ""}},
		"fetch":     {page: `<button onclick="fetch('/api', {method: 'PUT', body: JSON.stringify({item: 'tea'}), headers: {'Content-Type': 'application/json'}})">Go</button>`, want: request{"PUT", "/api", `{"item":"tea"}`}},
		"xhr":       {page: `<button onclick="x=new XMLHttpRequest();x.open('DELETE','/api/1');x.send()">Go</button>`, want: request{"DELETE", "/api/1", ""}},
		"beacon":    {page: `<button onclick="navigator.sendBeacon('/beacon','tea')">Go</button>`, want: request{"POST", "/beacon", "tea"}},
		"frame":     {page: `<iframe srcdoc="<form id=f method=post action=/buy><input name=item value=tea></form><script>f.submit()</script>"></iframe>`, want: request{"POST", "/buy", "item=tea"}, keys: `["F"]`},
	}
	pages := map[string]string{}
	for name, test := range tests {
		pages["/"+name] = "<title>Shop</title>" + test.page
	}
	site := newServer(t, pages)
	tool := open(t, environment(t), map[string]any{"sites": []string{site.URL}})
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := len(site.asked())
			r := does(t, tool, `{"action":"open","url":"`+site.URL+"/"+name+`"}`)
			arguments := `{"action":"click","x":20,"y":20}`
			if test.keys != "" {
				arguments = `{"action":"keypress","keys":` + test.keys + `}`
			}
			if len(r.Refused) == 0 { // a page may do it by itself
				r = refusedAfter(t, tool, arguments)
			}
			want := test.want
			want.URL = site.URL + want.URL
			wantIn(t, r.Output, "error: nothing was sent: the page wanted to submit "+want.Method+" "+want.URL, "call computer_submit with {")
			if !slices.Equal(r.Refused, []request{want}) {
				t.Errorf("refused: got %+v, want %+v", r.Refused, want)
			}
			if asked := site.asked()[before:]; len(asked) != 1 {
				t.Errorf("the site was asked: %q", asked)
			}
		})
	}
}

func TestLinksAndScriptsMayReadPages(t *testing.T) {
	tests := map[string]string{
		"link":     `<a href=/next>Next</a>`,
		"location": `<button onclick="location='/next?from=script'">Next</button>`,
		"refresh":  `<button onclick="document.head.insertAdjacentHTML('beforeend', '<meta http-equiv=refresh content=0;url=/next>')">Next</button>`,
		"fetch":    `<button onclick="fetch('/next').then(r=>r.text()).then(t=>document.title=t.slice(7,11))">Next</button>`,
		"frame":    `<button onclick="inner.onload=()=>document.title=inner.contentDocument.title;inner.src='/next'">Next</button><iframe id=inner></iframe>`,
		"redirect": `<a href=/moved>Next</a>`,
		"dialog":   `<button onclick="alert('stop');location='/next'">Next</button>`,
	}
	pages := map[string]string{"/next": "<title>Next</title>"}
	for name, page := range tests {
		pages["/"+name] = "<title>First</title>" + page
	}
	site := newServer(t, pages)
	tool := open(t, environment(t), map[string]any{"sites": []string{site.URL}})
	for name := range tests {
		t.Run(name, func(t *testing.T) {
			r := does(t, tool, `{"action":"open","url":"`+site.URL+"/"+name+`"}`)
			r = at(t, tool, "click", r, "Next")
			for range 50 {
				if strings.Contains(r.Output, "title: Next") {
					break
				}
				r = does(t, tool, `{"action":"wait","ms":100}`)
			}
			wantIn(t, r.Output, "title: Next")
			if len(r.Refused) != 0 {
				t.Errorf("refused %+v", r.Refused)
			}
		})
	}
}

// What the guard couldn't look into never begins: workers, pop-ups, sockets.
func TestNothingRunsBesideThePage(t *testing.T) {
	site := newServer(t, map[string]string{
		"/": `<title>Wait</title><button onclick="window.open('/popup')">Open</button><a href=/popup target=_blank>Tab</a>
			<button onclick="for (const key of ['ctrlKey','shiftKey','metaKey','altKey']) { const a = document.createElement('a'); a.href = '/popup'; a.dispatchEvent(new MouseEvent('click', {[key]: true, button: 0})); a.dispatchEvent(new MouseEvent('auxclick', {button: 1})) }">Keys</button>
			<script type=speculationrules>{"prerender":[{"urls":["/popup?prerender"],"eagerness":"immediate"}]}</script>
			<script>
			new WebSocket('ws://' + location.host + '/socket')
			const send = "fetch('/sent', {method: 'POST', body: '1'}); fetch('/read')";
			new Worker('/worker.js'); new Worker(URL.createObjectURL(new Blob([send.replaceAll("'/", "'" + location.origin + "/")])));
			new SharedWorker('/worker.js'); navigator.serviceWorker.register('/worker.js').catch(() => {});
			document.title = [typeof RTCPeerConnection, typeof WebTransport].join()
			</script>`,
		"/worker.js": `fetch('/sent', {method: 'POST', body: '1'}); fetch('/read')`,
		"/popup":     `<form id=f method=post action=/sent></form><script>new Image().src='/ran'; f.submit()</script>`,
	})
	tool := open(t, environment(t), map[string]any{"sites": []string{site.URL}, "start_url": site.URL})
	r := does(t, tool, `{"action":"wait","ms":300}`)
	wantIn(t, r.Output, "title: undefined,undefined\n")
	r = at(t, tool, "click", r, "Open")
	r = at(t, tool, "click", r, "Tab")
	wantIn(t, does(t, tool, `{"action":"click","x":40,"y":40,"button":"middle"}`).Output, "error: button is left or right")
	wantIn(t, does(t, tool, `{"action":"keypress","keys":["ctrl","Enter"]}`).Output, "error: Enter with a modifier")
	does(t, tool, `{"action":"keypress","keys":["ctrl","t"]}`)
	does(t, tool, `{"action":"keypress","keys":["ctrl","n"]}`)
	r = does(t, tool, `{"action":"wait","ms":500}`)
	wantIn(t, r.Output, "title: undefined")
	// A page may say what is to be fetched ahead. That is read, and doesn't run.
	ahead := func(line string) bool { return line == "GET /popup?prerender" }
	if asked := slices.DeleteFunc(site.asked(), ahead); !slices.Equal(asked, []string{"GET /"}) {
		t.Errorf("the site was asked: %q", asked)
	}
	// A page's own click with a key held goes where a plain one would: the same page, with the guard.
	refusedAfter(t, tool, fmt.Sprintf(`{"action":"click","x":%s}`, place(t, r, "Keys")))
	targets, err := chromedp.Targets(tool.browser.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if pages := slices.DeleteFunc(targets, func(i *target.Info) bool { return i.Type != "page" }); len(pages) != 1 {
		t.Errorf("there are %d pages", len(pages))
	}
	if asked := strings.Join(site.asked(), "\n"); strings.Contains(asked, "/sent") {
		t.Errorf("the site was asked: %s", asked)
	}
}

func TestAConfirmedSubmissionIsSentOnce(t *testing.T) {
	for name, page := range map[string]string{
		"urlencoded": `<form method=post action=/buy><button>Go</button><input name=item value=tea></form>`,
		"multipart":  `<form method=post enctype=multipart/form-data action=/buy><button>Go</button><input name=item value=tea></form>`,
		"json":       `<button onclick="fetch('/buy', {method: 'PUT', body: JSON.stringify({item: 'tea'}), headers: {'Content-Type': 'application/json'}})">Go</button>`,
	} {
		t.Run(name, func(t *testing.T) {
			site := newServer(t, map[string]string{"/": "<title>Shop</title>" + page})
			env := environment(t)
			options := map[string]any{"sites": []string{site.URL}, "start_url": site.URL}
			tool := open(t, env, options)
			r := refusedAfter(t, tool, `{"action":"click","x":20,"y":20}`)
			arguments, err := json.Marshal(r.Refused[0])
			if err != nil {
				t.Fatal(err)
			}
			raw, err := json.Marshal(options)
			if err != nil {
				t.Fatal(err)
			}
			submit, err := NewSubmit(raw, env)
			if err != nil {
				t.Fatal(err)
			}
			defer submit.Close()
			other, _ := json.Marshal(request{r.Refused[0].Method, r.Refused[0].URL, r.Refused[0].Body + "0"})
			if _, err := submit.Call(context.Background(), other); !fault.Is(err, fault.CodeInvalidToolArgs) {
				t.Errorf("another body: got %v", err)
			}
			sent, err := submit.Call(context.Background(), arguments)
			if err != nil {
				t.Fatal(err)
			}
			kind := map[string]string{"urlencoded": "application/x-www-form-urlencoded", "multipart": "multipart/form-data; boundary=", "json": "application/json"}[name]
			wantIn(t, string(sent), "submitted", "title: Done", r.Refused[0].Method+" as "+kind, "from "+site.URL+", cookie session=s3cret")
			if _, err := submit.Call(context.Background(), arguments); !fault.Is(err, fault.CodeInvalidToolArgs) {
				t.Errorf("a second time: got %v", err)
			}
			asked := site.asked()
			if len(asked) != 2 || !strings.HasPrefix(asked[1], r.Refused[0].Method+" /buy ") || !strings.Contains(asked[1], "tea") {
				t.Errorf("asked: %q", asked)
			}
		})
	}
}

func TestWhatNobodyCanReadIsNotConfirmable(t *testing.T) {
	for name, test := range map[string]struct{ kind, body, want string }{
		"too long":   {"text/plain", strings.Repeat("a", maxShown+1), "too long"},
		"not text":   {"application/octet-stream", "\xff\xfe", "isn't text"},
		"a file":     {"multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x\"\r\n\r\nz\r\n--b--\r\n", "carries a file"},
		"half parts": {"multipart/form-data; boundary=b", "--b\r\nContent-Disp", "can't be read"},
	} {
		t.Run(name, func(t *testing.T) {
			if text, err := shownBody(test.kind, []byte(test.body)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %q, %v", text, err)
			}
		})
	}
}

// A page that submits in a loop while edge opens pages must not slip one through.
func TestNoRaceLetsAFormPass(t *testing.T) {
	page := `<title>Loop</title><form id=f action=/sent><input name=q value=1></form><script>setInterval(() => f.submit(), 1)</script>`
	site := newServer(t, map[string]string{"/": page, "/calm": "<title>Calm</title>"})
	tool := open(t, environment(t), map[string]any{"sites": []string{site.URL}})
	for i := range 10 {
		does(t, tool, fmt.Sprintf(`{"action":"open","url":"%s/?%d"}`, site.URL, i))
		does(t, tool, fmt.Sprintf(`{"action":"open","url":"%s/calm?%d"}`, site.URL, i))
	}
	for _, line := range site.asked() {
		if strings.Contains(line, "/sent") {
			t.Errorf("the site was asked: %s", line)
		}
	}
}

// The proxy alone, as something in the browser would meet it that the guard doesn't see.
func TestTheProxyHoldsWithoutTheGuard(t *testing.T) {
	named := newServer(t, map[string]string{"/": "hello"})
	other := newServer(t, nil)
	origin, err := localOrigin(named.URL)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProxy(&site{origins: []string{origin}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: p.address()})}}
	do := func(method, address string) int {
		r, err := http.NewRequest(method, address, strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(r)
		if err != nil {
			return 0
		}
		response.Body.Close()
		return response.StatusCode
	}
	for _, test := range []struct {
		method, url string
		want        int
	}{
		{"GET", named.URL + "/", 200}, {"POST", named.URL + "/", 403}, {"OPTIONS", named.URL + "/", 403}, {"GET", other.URL + "/", 403},
		{"GET", "http://example.com/", 403}, {"GET", "http://" + pagesHost + "/", 403}, {"GET", "https://example.com/", 0},
	} {
		if got := do(test.method, test.url); got != test.want {
			t.Errorf("%s %s: got %d, want %d", test.method, test.url, got, test.want)
		}
	}
	p.letThrough("POST", named.URL+"/buy")
	if first, second := do("POST", named.URL+"/buy"), do("POST", named.URL+"/buy"); first != 200 || second != 403 {
		t.Errorf("let through once: got %d and %d", first, second)
	}
	if asked := named.asked(); !slices.Equal(asked, []string{"GET /", "POST /buy"}) || len(other.asked()) != 0 {
		t.Errorf("asked %q, %q", asked, other.asked())
	}
}
