package computer

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
)

// maxShown is how many bytes of a body a person can be asked to read.
const maxShown = 2000

// request is what a person confirms: everything that a submission says, in words that can be read.
type request struct {
	Method string `json:"method"`
	URL    string `json:"url"`
	// Body is the body's text; a form with several parts is written as name=value&name=value.
	Body string `json:"body"`
}

// submission is a request that a page wanted to send, whole.
type submission struct {
	request
	// Unconfirmable says why nobody can confirm it; empty if somebody can.
	Unconfirmable string `json:"-"`

	Raw     []byte                 `json:"raw"`
	Headers map[string]string      `json:"headers"`
	Cookies []*network.CookieParam `json:"cookies"`
}

// sentHeaders are the headers that belong to the submission; the rest is the browser's own.
func sentHeaders() []string { return []string{"Content-Type", "Origin", "Referer"} }

func newSubmission(e *fetch.EventRequestPaused) submission {
	s := submission{request: request{Method: e.Request.Method, URL: e.Request.URL}, Headers: map[string]string{}}
	for name, value := range e.Request.Headers {
		for _, keep := range sentHeaders() {
			if text, ok := value.(string); ok && strings.EqualFold(name, keep) {
				s.Headers[keep] = text
			}
		}
	}
	for _, entry := range e.Request.PostDataEntries {
		s.Raw = append(s.Raw, entry.Bytes...)
	}
	if e.Request.HasPostData && len(s.Raw) == 0 {
		s.Unconfirmable = "its body can't be read"
		return s
	}
	var err error
	if s.Body, err = shownBody(s.Headers["Content-Type"], s.Raw); err != nil {
		s.Unconfirmable = err.Error()
	}
	return s
}

func (s *submission) keepCookies(cookies []*network.Cookie) {
	for _, c := range cookies {
		s.Cookies = append(s.Cookies, &network.CookieParam{
			Name: c.Name, Value: c.Value, Domain: c.Domain, Path: c.Path, Secure: c.Secure, HTTPOnly: c.HTTPOnly,
			SameSite: c.SameSite, URL: s.URL,
		})
	}
}

// replace makes of the request e, which opens the submission's address, the submission.
func (s *submission) replace(e *fetch.EventRequestPaused) fetch.ContinueRequestParams {
	as := fetch.ContinueRequestParams{RequestID: e.RequestID, Method: s.Method, PostData: s.Raw}
	for name, value := range e.Request.Headers {
		if text, ok := value.(string); ok {
			as.Headers = append(as.Headers, &fetch.HeaderEntry{Name: name, Value: text})
		}
	}
	for name, value := range s.Headers {
		as.Headers = append(as.Headers, &fetch.HeaderEntry{Name: name, Value: value})
	}
	return as
}

// shownBody is a body as a person reads it, or why it can't be shown.
func shownBody(contentType string, raw []byte) (string, error) {
	kind, parameters, _ := mime.ParseMediaType(contentType)
	text := string(raw)
	if kind == "multipart/form-data" {
		var err error
		if text, err = shownParts(raw, parameters["boundary"]); err != nil {
			return "", err
		}
	}
	switch {
	case len(text) > maxShown:
		return "", errors.New("its body is too long to be read by a person")
	case !utf8.ValidString(text):
		return "", errors.New("its body isn't text")
	}
	return text, nil
}

func shownParts(raw []byte, boundary string) (string, error) {
	var pairs []string
	for r := multipart.NewReader(bytes.NewReader(raw), boundary); ; {
		part, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return strings.Join(pairs, "&"), nil
		}
		if err != nil {
			return "", errors.New("its body can't be read")
		}
		if part.FileName() != "" {
			return "", errors.New("it carries a file")
		}
		value, err := io.ReadAll(part)
		if err != nil {
			return "", errors.New("its body can't be read")
		}
		pairs = append(pairs, url.QueryEscape(part.FormName())+"="+url.QueryEscape(string(value)))
	}
}
