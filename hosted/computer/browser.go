package computer

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"edge/hosted"
	"edge/internal/fault"
)

// chromium is one running browser with one page. Its process is started by chromedp, which speaks to it through a pipe,
// kills it when edge dies (Linux) or when the pipe closes (everywhere), and removes its profile.
type chromium struct {
	site   *site
	proxy  *proxy
	guard  *guard
	ctx    context.Context
	cancel context.CancelFunc
	target *chromedp.Target
}

// closeGrace is how long the browser may take to end by itself.
const closeGrace = 5 * time.Second

// find gives the program: EDGE_CHROMIUM, or the first of the usual names on the path. Errors: browser_not_found.
func find(getenv func(string) string) (string, error) {
	names := []string{"chromium", "chromium-browser", "google-chrome"}
	if named := getenv("EDGE_CHROMIUM"); named != "" {
		names = []string{named}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fault.New(fault.CodeBrowserNotFound, "there is no browser: looked for %v", names)
}

// launch starts a browser on an empty page. Errors: browser_not_found, sandbox_unavailable, tool_raised.
func launch(env hosted.Environment, o options, s *site) (*chromium, error) {
	path, err := find(env.Getenv)
	if err != nil {
		return nil, err
	}
	// As root Chromium refuses to start with its sandbox. Without one, a page of a stranger would have a whole machine.
	if root := os.Geteuid() == 0; root && s.network {
		return nil, fault.New(fault.CodeSandboxUnavailable, "computer use with --allow-network runs a browser, and as root it has no sandbox").
			WithHint("run edge as another user, or leave --allow-network out")
	}
	home := filepath.Join(folder(env), "browser") // for font caches and the like; the profile is another
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	b := &chromium{site: s}
	if b.proxy, err = newProxy(s); err != nil {
		return nil, err
	}
	b.guard = newGuard(b)
	allocator, cancelAllocator := chromedp.NewExecAllocator(context.Background(), append(flags(o, b.proxy.address()),
		chromedp.ExecPath(path), chromedp.NoInheritEnv,
		chromedp.Env("PATH="+env.Getenv("PATH"), "HOME="+home, "LANG=C.UTF-8", "TMPDIR="+os.TempDir()))...)
	quiet := func(string, ...any) {}
	ctx, cancel := chromedp.NewContext(allocator, chromedp.WithListener(b.guard.hear), chromedp.WithLogf(quiet), chromedp.WithErrorf(quiet))
	b.ctx = ctx
	b.cancel = func() { cancel(); cancelAllocator() }
	if err := b.prepare(o); err != nil {
		b.close()
		return nil, fault.New(fault.CodeToolRaised, "the browser %s: %w", path, err)
	}
	return b, nil
}

// flags are the command line's, as far as chromedp doesn't set them.
func flags(o options, proxyAddress string) []chromedp.ExecAllocatorOption {
	options := []chromedp.ExecAllocatorOption{
		chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Headless, chromedp.DisableGPU,
		chromedp.WindowSize(int(o.Width), int(o.Height)),
		// Everything goes to the proxy, this machine's addresses too, and nothing is looked up beside it.
		chromedp.ProxyServer("http://" + proxyAddress),
		chromedp.Flag("proxy-bypass-list", "<-loopback>"),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
		chromedp.Flag("force-webrtc-ip-handling-policy", "disable_non_proxied_udp"),
		// One process for all frames of a page, so that one session sees all their requests.
		chromedp.Flag("disable-site-isolation-trials", true),
		// Nor anything that the browser sends or runs for a page outside of it.
		chromedp.Flag("disable-features", "IsolateOrigins,site-per-process,HttpsUpgrades,Translate,MediaRouter,OptimizationHints,"+
			"Prerender2,Reporting,NetworkErrorLogging,FencedFrames,SharedStorageAPI,Fledge"),
		chromedp.Flag("password-store", "basic"),
		chromedp.Flag("use-mock-keychain", true),
	}
	for _, name := range []string{
		"disable-background-networking", "disable-breakpad", "disable-component-update", "disable-default-apps", "disable-dev-shm-usage",
		"disable-domain-reliability", "disable-extensions", "disable-prompt-on-repost", "disable-quic", "disable-sync", "hide-scrollbars", "mute-audio",
	} {
		options = append(options, chromedp.Flag(name, true))
	}
	return options
}

// withoutRTC takes from every page what no policy forbids and neither the guard nor the proxy could look into.
const withoutRTC = `for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "WebTransport"]) delete globalThis[name]`

func (b *chromium) prepare(o options) error {
	// The first run starts the browser, which lives as long as this context: no limit of time here.
	if err := chromedp.Do(b.ctx); err != nil {
		return err
	}
	c := chromedp.FromContext(b.ctx)
	b.target = c.Target
	b.guard.own = c.Target.TargetID
	yes := true
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	// Should one begin in spite of the policy, a worker or a frame of another process is held before its first instruction.
	hold := target.SetAutoAttachParams{AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: &yes}
	calls := []func() error{
		call(ctx, b.target, target.SetAutoAttach, hold),
		call(ctx, c.Browser, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{Behavior: browser.SetDownloadBehaviorBehaviorDeny}),
		call(ctx, b.target, page.SetInterceptFileChooserDialog, page.SetInterceptFileChooserDialogParams{Enabled: true, Cancel: &yes}),
		call(ctx, b.target, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: withoutRTC, RunImmediately: &yes}),
		call(ctx, b.target, fetch.Enable, fetch.EnableParams{Patterns: paused()}),
		call(ctx, b.target, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: o.Width, Height: o.Height, DeviceScaleFactor: 1}),
	}
	for _, do := range calls {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

func call[P, R any](ctx context.Context, s cdp.Session, command cdp.Command[P, R], params P) func() error {
	return func() error {
		if _, err := cdp.Call(ctx, s, command, params); err != nil {
			return fmt.Errorf("%s: %w", command.Method, err)
		}
		return nil
	}
}

// close ends the browser and waits until its processes and its profile are gone.
func (b *chromium) close() error {
	ctx, cancel := context.WithTimeout(b.ctx, closeGrace)
	chromedp.Cancel(ctx)
	cancel()
	b.cancel()
	return b.proxy.close()
}
