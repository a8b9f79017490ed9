package computer

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// action is one call's arguments.
type action struct {
	Action  string   `json:"action"`
	URL     *string  `json:"url"`
	X       *float64 `json:"x"`
	Y       *float64 `json:"y"`
	Button  string   `json:"button"`
	ScrollX float64  `json:"scroll_x"`
	ScrollY float64  `json:"scroll_y"`
	Text    *string  `json:"text"`
	Keys    []string `json:"keys"`
	Path    []point  `json:"path"`
	MS      *int64   `json:"ms"`
}

type point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

const (
	maxText   = 4000
	maxWait   = 10 * time.Second
	defaultMS = 1000
	maxPoints = 100
)

// errTold is an error that a model can learn from.
type errTold struct{ text string }

func (e errTold) Error() string { return e.text }

func told(format string, args ...any) error { return errTold{fmt.Sprintf(format, args...)} }

// do performs one action. Errors that a model can learn from are errTold and errNoPage.
func (b *chromium) do(ctx context.Context, a action) error {
	switch a.Action {
	case "screenshot":
		return nil
	case "open":
		if a.URL == nil {
			return told("open needs url")
		}
		address, err := b.site.resolve(*a.URL)
		if err != nil {
			return err
		}
		return b.open(ctx, address)
	case "wait":
		return wait(ctx, a.MS)
	case "type":
		if a.Text == nil {
			return told("type needs text")
		}
		if len(*a.Text) > maxText {
			return told("text: at most %d bytes at once", maxText)
		}
		return b.keys(ctx, strings.ReplaceAll(*a.Text, "\n", kb.Enter))
	case "keypress":
		return b.keypress(ctx, a.Keys)
	case "drag":
		return b.drag(ctx, a.Path)
	}
	if a.X == nil || a.Y == nil {
		return told("%s needs x and y", a.Action)
	}
	at := point{*a.X, *a.Y}
	switch a.Action {
	case "move":
		return b.mouse(ctx, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: at.X, Y: at.Y})
	case "click":
		return b.click(ctx, at, a.Button, 1)
	case "double_click":
		return b.click(ctx, at, a.Button, 2)
	case "scroll":
		// By hand, because chromedp leaves a distance of 0 out, which the browser wants.
		return b.target.Call(ctx, input.DispatchMouseEvent.Method, map[string]any{
			"type": input.DispatchMouseEventTypeMouseWheel, "x": at.X, "y": at.Y, "deltaX": a.ScrollX, "deltaY": a.ScrollY,
		}, nil)
	}
	return told("there is no action %q", a.Action)
}

func (b *chromium) open(ctx context.Context, address string) error {
	// The guard lets pass what the browser will ask for, in the browser's spelling.
	quoted, err := json.Marshal(address)
	if err != nil {
		return err
	}
	raw, err := b.evaluate(ctx, "new URL("+string(quoted)+").href")
	if err == nil {
		err = json.Unmarshal(raw, &address)
	}
	if err != nil {
		return told("%s isn't an address", address)
	}
	b.guard.expect(cdp.FrameID(b.target.TargetID), address, ours)
	got, err := cdp.Call(ctx, b.target, page.Navigate, page.NavigateParams{URL: address})
	if err != nil {
		return err
	}
	if got.ErrorText != "" {
		return told("%s can't be opened: %s", b.site.shown(address), got.ErrorText)
	}
	return nil
}

func wait(ctx context.Context, ms *int64) error {
	limit := time.Duration(defaultMS) * time.Millisecond
	if ms != nil {
		limit = time.Duration(min(max(*ms, 0), maxWait.Milliseconds())) * time.Millisecond
	}
	select {
	case <-time.After(limit):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *chromium) mouse(ctx context.Context, events ...input.DispatchMouseEventParams) error {
	for _, e := range events {
		if _, err := cdp.Call(ctx, b.target, input.DispatchMouseEvent, e); err != nil {
			return err
		}
	}
	return nil
}

func (b *chromium) click(ctx context.Context, at point, button string, times int64) error {
	which := input.MouseButtonLeft
	switch button {
	case "", "left":
	case "right":
		which = input.MouseButtonRight
	default:
		return told("button is left or right") // the middle one opens a link in another tab
	}
	event := func(kind input.DispatchMouseEventType, count int64) input.DispatchMouseEventParams {
		return input.DispatchMouseEventParams{Type: kind, X: at.X, Y: at.Y, Button: which, ClickCount: count}
	}
	events := []input.DispatchMouseEventParams{{Type: input.DispatchMouseEventTypeMouseMoved, X: at.X, Y: at.Y}}
	for n := int64(1); n <= times; n++ {
		events = append(events, event(input.DispatchMouseEventTypeMousePressed, n), event(input.DispatchMouseEventTypeMouseReleased, n))
	}
	return b.mouse(ctx, events...)
}

func (b *chromium) drag(ctx context.Context, path []point) error {
	if len(path) < 2 || len(path) > maxPoints {
		return told("drag needs a path of 2 to %d points", maxPoints)
	}
	event := func(kind input.DispatchMouseEventType, at point) input.DispatchMouseEventParams {
		return input.DispatchMouseEventParams{Type: kind, X: at.X, Y: at.Y, Button: input.MouseButtonLeft, Buttons: 1, ClickCount: 1}
	}
	events := []input.DispatchMouseEventParams{
		{Type: input.DispatchMouseEventTypeMouseMoved, X: path[0].X, Y: path[0].Y}, event(input.DispatchMouseEventTypeMousePressed, path[0]),
	}
	for _, at := range path[1:] {
		events = append(events, event(input.DispatchMouseEventTypeMouseMoved, at))
	}
	released := event(input.DispatchMouseEventTypeMouseReleased, path[len(path)-1])
	released.Buttons = 0
	return b.mouse(ctx, append(events, released)...)
}

func (b *chromium) keys(ctx context.Context, text string, modifiers ...chromedp.Modifier) error {
	_, err := chromedp.KeyEvent(text, chromedp.KeyModifiers(modifiers...))(ctx, b.target)
	return err
}

// keypress presses keys one after another; modifiers are held for those that follow.
func (b *chromium) keypress(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return told("keypress needs keys")
	}
	var held []chromedp.Modifier
	for _, name := range names {
		if modifier, ok := modifierOf(name); ok {
			held = append(held, modifier)
			continue
		}
		key, ok := keyOf(name)
		if !ok {
			return told("there is no key %q", name)
		}
		if key == kb.Enter && len(held) > 0 {
			return told("Enter with a modifier opens another tab or window; press Enter alone")
		}
		if err := b.keys(ctx, key, held...); err != nil {
			return err
		}
	}
	return nil
}

func modifierOf(name string) (chromedp.Modifier, bool) {
	switch strings.ToLower(name) {
	case "alt", "option":
		return chromedp.ModifierAlt, true
	case "ctrl", "control":
		return chromedp.ModifierCtrl, true
	case "shift":
		return chromedp.ModifierShift, true
	case "meta", "cmd", "command", "super", "win":
		return chromedp.ModifierMeta, true
	}
	return 0, false
}

// keyOf is the character by which chromedp knows a key; names are those of SDKs and of the DOM, in any case.
func keyOf(name string) (string, bool) {
	switch strings.ToLower(name) {
	case "enter", "return":
		return kb.Enter, true
	case "tab":
		return kb.Tab, true
	case "esc", "escape":
		return kb.Escape, true
	case "backspace":
		return kb.Backspace, true
	case "delete", "del":
		return kb.Delete, true
	case "space":
		return " ", true
	case "arrowup", "up":
		return kb.ArrowUp, true
	case "arrowdown", "down":
		return kb.ArrowDown, true
	case "arrowleft", "left":
		return kb.ArrowLeft, true
	case "arrowright", "right":
		return kb.ArrowRight, true
	case "home":
		return kb.Home, true
	case "end":
		return kb.End, true
	case "pageup":
		return kb.PageUp, true
	case "pagedown":
		return kb.PageDown, true
	case "insert":
		return kb.Insert, true
	}
	return name, len([]rune(name)) == 1
}
