package computer

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

const (
	maxElements = 40
	maxPageText = 1500
)

//go:embed look.js
var lookScript string

// view is what a model that can't see gets of a page.
type view struct {
	Title     string    `json:"title"`
	URL       string    `json:"url"`
	Ready     string    `json:"ready"`
	Focus     *element  `json:"focus"`
	Elements  []element `json:"elements"`
	Elsewhere int       `json:"elsewhere"` // elements outside the window, or beyond the most that are listed
	Text      string    `json:"text"`
	ScrollY   int       `json:"scrollY"`
}

type element struct {
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	Value    string `json:"value"`
	X        int    `json:"x"`
	Y        int    `json:"y"`
	Disabled bool   `json:"disabled"`
}

// look describes the page. The script runs in a world of its own, where the page's scripts can't change what it finds.
func (b *chromium) look(ctx context.Context) (view, error) {
	source := strings.NewReplacer("MOST", strconv.Itoa(maxElements), "LONGEST", strconv.Itoa(maxPageText)).Replace(lookScript)
	var v view
	raw, err := b.evaluate(ctx, source)
	if err == nil {
		err = json.Unmarshal(raw, &v)
	}
	return v, err
}

// evaluate runs a script in edge's own world of the page.
func (b *chromium) evaluate(ctx context.Context, source string) (json.RawMessage, error) {
	world, err := cdp.Call(ctx, b.target, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{
		FrameID: cdp.FrameID(b.target.TargetID), WorldName: "edge",
	})
	if err != nil {
		return nil, err
	}
	yes := true
	got, err := cdp.Call(ctx, b.target, runtime.Evaluate, runtime.EvaluateParams{
		Expression: source, ContextID: world.ExecutionContextID, ReturnByValue: &yes, AwaitPromise: &yes,
	})
	if err != nil {
		return nil, err
	}
	if got.ExceptionDetails != nil {
		return nil, errors.New(got.ExceptionDetails.Text)
	}
	return json.RawMessage(got.Result.Value), nil
}

const (
	// settleStep is how long a page gets to begin what an action caused.
	settleStep = 80 * time.Millisecond
	// settleLimit is how long a page may load.
	settleLimit = 8 * time.Second
)

// settle waits until the page has loaded what an action caused, or for settleLimit.
func (b *chromium) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	pause := fmt.Sprintf("new Promise(done => setTimeout(() => done(document.readyState), %d))", settleStep.Milliseconds())
	for {
		ready, err := b.evaluate(ctx, pause)
		if string(ready) == `"complete"` {
			return nil
		}
		// A page that is being left takes the script with it: ask the next one.
		if err != nil {
			select {
			case <-time.After(settleStep):
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			return nil // it is told as it is
		}
	}
}

// text is the view as the model reads it.
func (v view) text(s *site) string {
	var b strings.Builder
	fmt.Fprintf(&b, "title: %s\nurl: %s\n", v.Title, s.shown(v.URL))
	if v.Ready != "complete" {
		b.WriteString("(still loading)\n")
	}
	if v.Focus != nil {
		fmt.Fprintf(&b, "focus: %s\n", v.Focus)
	}
	if v.ScrollY > 0 {
		fmt.Fprintf(&b, "scrolled down by %d\n", v.ScrollY)
	}
	for i, e := range v.Elements {
		fmt.Fprintf(&b, "%d. %s at %d,%d\n", i+1, e, e.X, e.Y)
	}
	if v.Elsewhere > 0 {
		fmt.Fprintf(&b, "(%d more: scroll)\n", v.Elsewhere)
	}
	if v.Text != "" {
		text := []rune(v.Text)
		end := ""
		if len(text) > maxPageText {
			text, end = text[:maxPageText], "…"
		}
		fmt.Fprintf(&b, "text: %s%s\n", string(text), end)
	}
	return b.String()
}

func (e element) String() string {
	text := fmt.Sprintf("%s %q", e.Kind, e.Name)
	if e.Value != "" {
		text += fmt.Sprintf(" = %q", e.Value)
	}
	if e.Disabled {
		text += " (disabled)"
	}
	return text
}
