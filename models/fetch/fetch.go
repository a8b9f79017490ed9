// Package fetch downloads one file over HTTP, and accepts it only when it is the file that was asked for.
//
// Bytes gather in FILE.part beside the target, with a note of where they come from; whatever interrupts the download,
// the next one goes on from there. The target appears by renaming, after the size and the SHA-256 were found right and
// the bytes are on the disk: nobody ever sees half a file, or another file, under the target's name. Two processes
// that fetch the same file take turns.
//
// Refused: a server that answers with a web page, another size or other bytes; redirects from https to http; and
// downloads that can't be told whole from cut short.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"edge/internal/atomicfile"
	"edge/internal/digest"
	"edge/internal/fault"
)

// Progress is told how a transfer goes. Start may come again when a transfer has to begin anew.
type Progress interface {
	// Start begins a transfer of total bytes, 0 where that isn't known.
	Start(total int64)
	// Add says that n more bytes are there.
	Add(n int64)
	// Done ends it, also after a failure, and also where nothing was ever started.
	Done()
}

// Silent is a Progress that says nothing.
type Silent struct{}

// Start implements Progress.
func (Silent) Start(int64) {}

// Add implements Progress.
func (Silent) Add(int64) {}

// Done implements Progress.
func (Silent) Done() {}

// Config says how a Client works; the zero Config is good.
type Config struct {
	// HTTP makes the requests. The default follows the proxy settings of the environment.
	HTTP *http.Client
	// Attempts is how many requests in a row may fail without one more byte; 0 means 5.
	Attempts int
	// Stall is how long a server may send nothing before the request is made again; 0 means 30 s.
	Stall time.Duration
	// Sleep waits between attempts. The default is the real clock.
	Sleep func(ctx context.Context, d time.Duration) error
	// Free says how many bytes can still be written below a folder. The default asks nobody.
	Free func(dir string) (int64, error)
	// Notify is told, in a sentence, what the user should know. The default drops it.
	Notify func(message string)
}

// Client fetches files. It may be used by several goroutines.
type Client struct {
	cfg  Config
	wrap func(io.Writer) io.Writer // in tests: a writer that fails
}

// Request names a file and where it goes.
type Request struct {
	URL  string
	Path string
	// Size and SHA256 are what the file must have; 0 and the zero digest stand for "not known".
	Size   int64
	SHA256 digest.SHA256
	// Header is sent along. Credentials in it don't follow a redirect to another host.
	Header http.Header
}

// Result is what lies at Request.Path now.
type Result struct {
	Size    int64
	SHA256  digest.SHA256
	Present bool // it was there before, and nothing was transferred
}

// New makes a Client.
func New(cfg Config) *Client {
	if cfg.HTTP == nil {
		transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 15 * time.Second}
		cfg.HTTP = &http.Client{Transport: transport}
	}
	if cfg.HTTP.CheckRedirect == nil {
		own := *cfg.HTTP
		own.CheckRedirect = checkRedirect
		cfg.HTTP = &own
	}
	if cfg.Attempts == 0 {
		cfg.Attempts = 5
	}
	if cfg.Stall == 0 {
		cfg.Stall = 30 * time.Second
	}
	if cfg.Sleep == nil {
		cfg.Sleep = sleep
	}
	if cfg.Notify == nil {
		cfg.Notify = func(string) {}
	}
	return &Client{cfg: cfg}
}

// Fetch brings the file. The error is download_failed, download_digest_mismatch, no_space, a cancellation or, for
// trouble with the local folder, an ordinary one. Except after a mismatch, what has arrived stays for the next try.
func (c *Client) Fetch(ctx context.Context, req Request, progress Progress) (Result, error) {
	if u, err := url.Parse(req.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return Result{}, fault.New(fault.CodeDownloadFailed, "%q isn't the address of a file", req.URL)
	}
	if progress == nil {
		progress = Silent{}
	}
	unlock, err := c.lock(ctx, req.Path)
	if err != nil {
		return Result{}, err
	}
	defer unlock()
	if res, ok := present(req); ok {
		return res, nil
	}
	defer progress.Done()
	res, err := c.fetch(ctx, req, progress)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("fetch %s: %w", filepath.Base(req.Path), ctx.Err())
	}
	return res, err
}

// lock holds off other processes that fetch the same file. The lock's file stays: removing it would let two in.
func (c *Client) lock(ctx context.Context, path string) (unlock func(), err error) {
	lock := flock.New(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".lock"))
	ok, err := lock.TryLock()
	if err == nil && !ok {
		c.cfg.Notify(fmt.Sprintf("another process is fetching %s; waiting for it", filepath.Base(path)))
		_, err = lock.TryLockContext(ctx, 100*time.Millisecond)
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { lock.Close() }, nil
}

// present reports whether the file at the target is the one that is asked for, which only a known digest can tell.
func present(req Request) (Result, bool) {
	if req.SHA256.IsZero() {
		return Result{}, false
	}
	info, err := os.Stat(req.Path)
	if err != nil || !info.Mode().IsRegular() || req.Size > 0 && info.Size() != req.Size {
		return Result{}, false
	}
	got, err := digest.SHA256File(req.Path)
	return Result{Size: info.Size(), SHA256: got, Present: true}, err == nil && got == req.SHA256
}

// fetch makes requests until the part is whole, and then decides about it.
func (c *Client) fetch(ctx context.Context, req Request, progress Progress) (Result, error) {
	part, err := openPart(req)
	if err != nil {
		return Result{}, err
	}
	defer part.close()
	inherited := part.size > 0
	for {
		if err := c.gather(ctx, req, part, progress); err != nil {
			return Result{}, c.giveUp(part, err)
		}
		got, err := part.digest(ctx)
		if err != nil {
			return Result{}, err
		}
		switch {
		case req.SHA256.IsZero() || got == req.SHA256:
			return Result{Size: part.size, SHA256: got}, part.promote(req.Path)
		case inherited:
			// The bytes that an earlier run left may be those of another version: once more, from the start.
			inherited = false
			if err := part.restart(""); err != nil {
				return Result{}, err
			}
		default:
			err := mismatch("%s is another file: got sha256 %s, want %s", req.URL, got, req.SHA256)
			return Result{}, c.giveUp(part, err)
		}
	}
}

// giveUp removes a part that can't become the file or holds nothing, and names a full disk for what it is.
func (c *Client) giveUp(part *part, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		err = fault.New(fault.CodeNoSpace, "no space left for %s: %w", part.path, err)
	}
	if fault.Is(err, fault.CodeDownloadDigestMismatch) || part.size == 0 {
		return errors.Join(err, part.remove())
	}
	return err
}

// gather makes requests until one ends with a whole part, or until they stop bringing anything new.
func (c *Client) gather(ctx context.Context, req Request, part *part, progress Progress) error {
	furthest := part.size
	for failures := 0; ; {
		wait, err := c.attempt(ctx, req, part, progress)
		var again transient
		if err == nil || !errors.As(err, &again) || ctx.Err() != nil {
			return err
		}
		if failures++; part.size > furthest {
			furthest, failures = part.size, 1
		}
		if failures >= c.cfg.Attempts {
			return fault.New(fault.CodeDownloadFailed, "%s: %w", req.URL, err)
		}
		if wait == 0 {
			wait = 500 * time.Millisecond << (failures - 1)
		}
		if err := c.cfg.Sleep(ctx, min(wait, 30*time.Second)); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) >= 10 {
		return badRedirect{errors.New("more than 10 redirects")}
	}
	if via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return badRedirect{fmt.Errorf("a redirect to %s, which isn't https", req.URL.Host)}
	}
	return nil
}

func mismatch(format string, args ...any) error {
	return fault.New(fault.CodeDownloadDigestMismatch, format, args...)
}

// promote makes the whole part the target, durably.
func (p *part) promote(path string) error {
	if err := p.file.Chmod(0o644); err != nil {
		return err
	}
	if err := p.file.Sync(); err != nil {
		return err
	}
	if err := p.file.Close(); err != nil {
		return err
	}
	if err := os.Rename(p.path, path); err != nil {
		return err
	}
	if err := os.Remove(p.note); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(path))
}
