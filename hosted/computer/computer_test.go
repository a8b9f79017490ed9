package computer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"edge/hosted"
	"edge/internal/digest"
	"edge/internal/fault"
	"edge/internal/home"
)

// server is a site of this machine that writes down what it is asked, method and path and body.
type server struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
}

func newServer(t *testing.T, pages map[string]string) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.seen = append(s.seen, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Method, r.URL, body)))
		s.mu.Unlock()
		if r.URL.Path == "/favicon.ico" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch {
		case strings.HasSuffix(r.URL.Path, ".js"):
			w.Header().Set("Content-Type", "text/javascript")
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/next", http.StatusFound)
			return
		}
		if r.Method != http.MethodGet {
			fmt.Fprintf(w, "<title>Done</title>%s as %s from %s, cookie %s", r.Method, r.Header.Get("Content-Type"), r.Header.Get("Origin"), r.Header.Get("Cookie"))
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "s3cret"})
		io.WriteString(w, pages[r.URL.Path])
	}))
	t.Cleanup(s.Close)
	return s
}

// asked are the requests that came, without those for the site's icon.
func (s *server) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var asked []string
	for _, line := range s.seen {
		if !strings.Contains(line, "favicon") {
			asked = append(asked, line)
		}
	}
	return asked
}

func environment(t *testing.T) hosted.Environment {
	return hosted.Environment{Home: home.Dir(t.TempDir()), Getenv: os.Getenv, Base: t.TempDir()}
}

func open(t *testing.T, env hosted.Environment, options map[string]any) *Tool {
	t.Helper()
	raw, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	tool, err := New(raw, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tool.Close(); err != nil {
			t.Error(err)
		}
	})
	return tool.(*Tool)
}

// does performs an action and gives the result.
func does(t *testing.T, tool *Tool, arguments string) result {
	t.Helper()
	raw, err := tool.Call(context.Background(), json.RawMessage(arguments))
	if err != nil {
		t.Fatalf("%s: %v", arguments, err)
	}
	var r result
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// at clicks or moves to the element that r lists by this name.
func at(t *testing.T, tool *Tool, action string, r result, name string) result {
	t.Helper()
	return does(t, tool, fmt.Sprintf(`{"action":%q,"x":%s}`, action, place(t, r, name)))
}

// place is the element's place, as x,"y":y.
func place(t *testing.T, r result, name string) string {
	t.Helper()
	at := regexp.MustCompile(`"` + regexp.QuoteMeta(name) + `".* at (\d+),(\d+)\n`).FindStringSubmatch(r.Output)
	if at == nil {
		t.Fatalf("no element %q in:\n%s", name, r.Output)
	}
	return at[1] + `,"y":` + at[2]
}

func wantIn(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in:\n%s", part, text)
		}
	}
}

func TestActionsWorkAPage(t *testing.T) {
	env := environment(t)
	page := `<title>Desk</title><style>body{margin:0}div{height:40px}</style>
		<div><label>Name <input id=name></label></div>
		<div><input type=password value=secret name=word></div>
		<div><button onclick="out.textContent='clicked '+name1()">Greet</button></div>
		<div><button ondblclick="out.textContent='double'">Twice</button></div>
		<div id=bar style="width:400px" onmousedown="from=event.clientX" onmouseup="out.textContent='dragged '+(event.clientX-from)" role=button tabindex=0>Bar</div>
		<div onmousemove="out2.textContent='moved'" role=button>Over</div>
		<p id=out></p><p id=out2></p>
		<div style="height:3000px"></div><a href="second.html">Far below</a>
		<script>function name1(){return document.getElementById('name').value}
		document.addEventListener('keydown', e => { if (e.key == 'ArrowDown' && e.shiftKey) out.textContent = 'shift down' })</script>`
	if err := os.WriteFile(filepath.Join(env.Base, "desk.html"), []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	tool := open(t, env, map[string]any{"pages": ".", "start_url": "desk.html", "width": 800, "height": 600})
	r := does(t, tool, `{"action":"screenshot"}`)
	wantIn(t, r.Output, "title: Desk\n", "url: file://", "/desk.html\n", `input text "Name" at `, `input password "word" = "(hidden)"`, "(1 more: scroll)")
	picture, err := os.ReadFile(r.Screenshot.Path)
	if err != nil || len(picture) != r.Screenshot.Bytes || digest.SHA256Of(picture) != r.Screenshot.SHA256 || !strings.HasPrefix(string(picture), "\x89PNG") {
		t.Errorf("screenshot %+v: %v", r.Screenshot, err)
	}
	if info, err := os.Stat(r.Screenshot.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("screenshot: %v, %v", info.Mode(), err)
	}

	r = at(t, tool, "click", r, "Name")
	wantIn(t, r.Output, `focus: input text "Name"`)
	r = does(t, tool, `{"action":"type","text":"Zoë 猫"}`)
	wantIn(t, r.Output, `= "Zoë 猫"`)
	r = does(t, tool, `{"action":"keypress","keys":["Backspace"]}`)
	wantIn(t, r.Output, `= "Zoë"`)
	r = at(t, tool, "click", r, "Greet")
	wantIn(t, r.Output, "clicked Zoë")
	r = at(t, tool, "double_click", r, "Twice")
	wantIn(t, r.Output, "double")
	r = does(t, tool, `{"action":"keypress","keys":["SHIFT","ArrowDown"]}`)
	wantIn(t, r.Output, "shift down")
	r = at(t, tool, "move", r, "Over")
	wantIn(t, r.Output, "moved")
	r = does(t, tool, `{"action":"drag","path":[{"x":10,"y":180},{"x":60,"y":180},{"x":110,"y":180}]}`)
	wantIn(t, r.Output, "dragged 100")
	r = does(t, tool, `{"action":"scroll","x":100,"y":100,"scroll_x":0,"scroll_y":5000}`)
	r = does(t, tool, `{"action":"wait","ms":200}`)
	wantIn(t, r.Output, "scrolled down by ", `link "Far below" at `)

	for arguments, want := range map[string]string{
		`{"action":"click"}`:                             "error: click needs x and y",
		`{"action":"type"}`:                              "error: type needs text",
		`{"action":"keypress","keys":["Nowhere"]}`:       `error: there is no key "Nowhere"`,
		`{"action":"drag","path":[{"x":1,"y":1}]}`:       "error: drag needs a path",
		`{"action":"open"}`:                              "error: open needs url",
		`{"action":"click","x":1,"y":1,"button":"nose"}`: "error: button is left or right",
		`{"action":"open","url":"none.html"}`:            "error: there is no page none.html",
	} {
		wantIn(t, does(t, tool, arguments).Output, want, "title: Desk")
	}
}

func TestOnlyNamedPagesAreOpened(t *testing.T) {
	other := newServer(t, map[string]string{"/": "<title>Other</title>"})
	env := environment(t)
	outside := filepath.Join(t.TempDir(), "outside.html")
	for path, text := range map[string]string{
		outside:                                  "<title>Outside</title>",
		filepath.Join(env.Base, "a.html"):        `<title>A</title><img src="` + other.URL + `/pixel"><iframe src="` + other.URL + `/"></iframe><iframe src="file://` + outside + `"></iframe><script>fetch("` + other.URL + `/data").catch(()=>{}); new Image().src="http://example.com/x"</script>`,
		filepath.Join(env.Base, "sub", "b.html"): "<title>B</title>",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(env.Base, "link.html")); err != nil {
		t.Fatal(err)
	}
	tool := open(t, env, map[string]any{"pages": env.Base})
	r := does(t, tool, `{"action":"open","url":"a.html"}`)
	wantIn(t, r.Output, "title: A", "error: not loaded: "+strings.TrimPrefix(other.URL, "http://")+" is neither", "error: not loaded: example.com is neither")
	wantIn(t, does(t, tool, `{"action":"open","url":"file://`+filepath.ToSlash(env.Base)+`/sub/b.html"}`).Output, "title: B", "/sub/b.html")
	for _, address := range []string{"link.html", "../" + filepath.Base(filepath.Dir(outside)) + "/outside.html", outside, "file://" + outside, "chrome://version", "javascript:alert(1)", "view-source:a.html", "ftp://localhost/"} {
		if r := does(t, tool, `{"action":"open","url":"`+address+`"}`); !strings.HasPrefix(r.Output, "error: ") || strings.Contains(r.Output, "Outside") {
			t.Errorf("%s: %s", address, r.Output)
		}
	}
	for _, address := range []string{other.URL, "https://example.com/", "http://169.254.169.254/"} {
		_, err := tool.Call(context.Background(), json.RawMessage(`{"action":"open","url":"`+address+`"}`))
		if !fault.Is(err, fault.CodeNetworkNotAllowed) {
			t.Errorf("%s: got %v", address, err)
		}
	}
	if asked := other.asked(); len(asked) != 0 {
		t.Errorf("a site that wasn't named was asked: %q", asked)
	}
}

// With the network, addresses of this machine that weren't named stay out of reach; and as root, where Chromium has no
// sandbox, there is no network.
func TestTheNetworkIsPublicAddressesOnly(t *testing.T) {
	other := newServer(t, map[string]string{"/": "<title>Other</title>"})
	env := environment(t)
	env.AllowNetwork = true
	tool := open(t, env, map[string]any{})
	raw, err := tool.Call(context.Background(), json.RawMessage(`{"action":"open","url":"`+other.URL+`"}`))
	if os.Geteuid() == 0 {
		if !fault.Is(err, fault.CodeSandboxUnavailable) {
			t.Errorf("got %v", err)
		}
	} else if err != nil || !strings.Contains(string(raw), "isn't a public address") {
		t.Errorf("got %s, %v", raw, err)
	}
	if asked := other.asked(); len(asked) != 0 {
		t.Errorf("asked: %q", asked)
	}
}
