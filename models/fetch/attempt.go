package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"edge/internal/fault"
)

// transient is a failure after which the same request may well succeed.
type transient struct{ error }

func (t transient) Unwrap() error { return t.error }

// badRedirect is a redirect that isn't followed, however often it is met.
type badRedirect struct{ error }

// slack is left free on the disk besides the file itself.
const slack = 16 << 20

// attempt makes one request for what the part lacks. A nil error means that the part is whole; wait is how long the
// server wants to be left alone.
func (c *Client) attempt(ctx context.Context, req Request, part *part, progress Progress) (wait time.Duration, err error) {
	if req.Size > 0 && part.size == req.Size {
		return 0, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := fmt.Errorf("the server sent nothing for %s", c.cfg.Stall)
	watch := time.AfterFunc(c.cfg.Stall, func() { cancel(stalled) })
	defer watch.Stop()

	resp, err := c.send(ctx, req, part)
	if err != nil {
		return 0, causeOf(ctx, err, stalled)
	}
	defer resp.Body.Close()
	total, err := c.begin(req, part, resp)
	if err != nil {
		return retryAfter(resp), err
	}
	if total == part.size && resp.StatusCode == http.StatusRequestedRangeNotSatisfiable {
		return 0, nil
	}
	if err := c.room(part, total); err != nil {
		return 0, err
	}
	progress.Start(max(total, 0))
	progress.Add(part.size)
	watch.Reset(c.cfg.Stall)
	err = c.copy(part, resp.Body, total, func(n int64) {
		watch.Reset(c.cfg.Stall)
		progress.Add(n)
	})
	return 0, causeOf(ctx, err, stalled)
}

// send asks for the whole file, or for the rest of it provided that it hasn't changed.
func (c *Client) send(ctx context.Context, req Request, part *part) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, req.URL, nil)
	if err != nil {
		return nil, fault.New(fault.CodeDownloadFailed, "%s: %w", req.URL, err)
	}
	for key, values := range req.Header {
		r.Header[key] = values
	}
	r.Header.Set("Accept-Encoding", "identity")
	if part.size > 0 {
		r.Header.Set("Range", "bytes="+strconv.FormatInt(part.size, 10)+"-")
		if part.etag != "" {
			r.Header.Set("If-Range", part.etag)
		}
	}
	resp, err := c.cfg.HTTP.Do(r)
	if err == nil {
		return resp, nil
	}
	var dns *net.DNSError
	var redirect badRedirect
	switch {
	case errors.As(err, &redirect):
		return nil, fault.New(fault.CodeDownloadFailed, "%s: %w", req.URL, redirect)
	case errors.As(err, &dns) && dns.IsNotFound:
		return nil, fault.New(fault.CodeDownloadFailed, "%s can't be reached: %w", r.URL.Host, err)
	}
	return nil, transient{err}
}

// begin judges the answer's head, and brings the part to where the body starts. total is the file's size, or −1.
func (c *Client) begin(req Request, part *part, resp *http.Response) (total int64, err error) {
	// Before anything else, since a network's login page must not cost what has arrived.
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); resp.StatusCode < 300 && kind == "text/html" {
		return 0, fault.New(fault.CodeDownloadFailed, "%s: the server answered with a web page instead of the file", req.URL)
	}
	switch code := resp.StatusCode; {
	case code == http.StatusPartialContent:
		start, whole, ok := contentRange(resp.Header.Get("Content-Range"))
		if etag := strongETag(resp); !ok || start != part.size || part.etag != "" && etag != "" && etag != part.etag {
			if err := part.restart(""); err != nil {
				return 0, err
			}
			return 0, transient{errors.New("the server sent another part than was asked for")}
		}
		total = whole
	case code == http.StatusOK:
		total = resp.ContentLength
		if err := part.restart(strongETag(resp)); err != nil {
			return 0, err
		}
	case code == http.StatusRequestedRangeNotSatisfiable && part.size > 0:
		if _, whole, _ := contentRange(resp.Header.Get("Content-Range")); whole == part.size && (req.Size == 0 || req.Size == whole) {
			return whole, nil
		}
		if err := part.restart(""); err != nil {
			return 0, err
		}
		return 0, transient{errors.New("the server has another version of the file")}
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests, code >= 500:
		return 0, transient{fmt.Errorf("the server answered %s", resp.Status)}
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return 0, fault.New(fault.CodeDownloadFailed, "%s: the server answered %s", req.URL, resp.Status).
			WithHint("the file may need a login or an accepted licence: get it by hand and give it with --from")
	default:
		return 0, fault.New(fault.CodeDownloadFailed, "%s: the server answered %s", req.URL, resp.Status)
	}
	if req.Size > 0 && total >= 0 && total != req.Size {
		return 0, mismatch("%s is another file: got %d bytes, want %d", req.URL, total, req.Size)
	}
	if req.Size > 0 {
		total = req.Size
	}
	if total < 0 && req.SHA256.IsZero() {
		return 0, fault.New(fault.CodeDownloadFailed, "%s: neither the server nor edge knows the file's size or digest", req.URL)
	}
	return total, nil
}

// room refuses a download that the disk can't hold before it starts.
func (c *Client) room(part *part, total int64) error {
	if c.cfg.Free == nil || total < 0 {
		return nil
	}
	free, err := c.cfg.Free(filepath.Dir(part.path))
	if err != nil {
		return err
	}
	if need := total - part.size + slack; free < need {
		return fault.New(fault.CodeNoSpace, "%s needs %d MB more, and %d MB are free", part.path, need>>20, free>>20)
	}
	return nil
}

// copy appends the body to the part. A body longer than total is another file; a shorter one was cut.
func (c *Client) copy(part *part, body io.Reader, total int64, moved func(int64)) error {
	var out io.Writer = part.file
	if c.wrap != nil {
		out = c.wrap(out)
	}
	buf := make([]byte, 256<<10)
	for {
		n, readErr := body.Read(buf)
		if total >= 0 && part.size+int64(n) > total {
			return mismatch("%s is another file: got more than the %d bytes that it has to have", part.url, total)
		}
		if n > 0 {
			written, err := out.Write(buf[:n])
			part.size += int64(written)
			if err != nil {
				return err
			}
			moved(int64(n))
		}
		switch {
		case readErr == nil:
		case errors.Is(readErr, io.EOF) && total >= 0 && part.size < total:
			return transient{fmt.Errorf("the connection ended after %d of %d bytes", part.size, total)}
		case errors.Is(readErr, io.EOF):
			return nil
		default:
			return transient{readErr}
		}
	}
}

// Get reads a short answer, such as a service's JSON, of at most limit bytes.
func (c *Client) Get(ctx context.Context, address string, header http.Header, limit int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Stall)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fault.New(fault.CodeDownloadFailed, "%s: %w", address, err)
	}
	for key, values := range header {
		r.Header[key] = values
	}
	resp, err := c.cfg.HTTP.Do(r)
	if err != nil {
		return nil, fault.New(fault.CodeDownloadFailed, "%s can't be reached: %w", r.URL.Host, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fault.New(fault.CodeDownloadFailed, "%s: the server answered %s", address, resp.Status)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, fault.New(fault.CodeDownloadFailed, "%s: %w", address, err)
	}
	if int64(len(raw)) > limit {
		return nil, fault.New(fault.CodeDownloadFailed, "%s: the answer is larger than %d bytes", address, limit)
	}
	return raw, nil
}

// causeOf gives the stall, which ended the request, in place of the cancellation that it looks like.
func causeOf(ctx context.Context, err, stalled error) error {
	if err != nil && context.Cause(ctx) == stalled {
		return transient{stalled}
	}
	return err
}

// contentRange reads "bytes 5-9/10" and "bytes */10"; an unknown whole is −1.
func contentRange(text string) (start, whole int64, ok bool) {
	text, found := strings.CutPrefix(text, "bytes ")
	span, size, sliced := strings.Cut(text, "/")
	if !found || !sliced {
		return 0, -1, false
	}
	whole = -1
	if size != "*" {
		n, err := strconv.ParseInt(size, 10, 64)
		if err != nil || n < 0 {
			return 0, -1, false
		}
		whole = n
	}
	first, _, _ := strings.Cut(span, "-")
	start, err := strconv.ParseInt(first, 10, 64)
	return start, whole, err == nil
}

// strongETag is the answer's validator if it may be used to continue a download (RFC 9110, 13.1.5).
func strongETag(resp *http.Response) string {
	etag := resp.Header.Get("ETag")
	if !strings.HasPrefix(etag, `"`) || len(etag) > maxNote/2 {
		return ""
	}
	return etag
}

func retryAfter(resp *http.Response) time.Duration {
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
