package served

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
	"unicode"

	"edge/internal/fault"
)

// Endpoint reads a server's address. One that isn't loopback is network_not_allowed unless the user has allowed it.
func Endpoint(address string, allowNetwork bool) (*url.URL, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, fault.New(fault.CodeInvalidArguments, "%q isn't a server's address", address).WithHint("for example: http://127.0.0.1:8080")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, fault.New(fault.CodeInvalidArguments, "the server's address holds more than scheme, host, port and path: a key belongs into OPENAI_API_KEY")
	case !loopback(u.Hostname()) && !allowNetwork:
		return nil, fault.New(fault.CodeNetworkNotAllowed, "%s isn't on this machine, and --allow-network wasn't given", u.Host)
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u, nil
}

// Here reports whether an address is on this machine.
func Here(u *url.URL) bool { return loopback(u.Hostname()) }

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Client gives a client for one server: no redirects, and where the address is loopback no proxy and no other machine,
// whatever its name resolves to.
func Client(u *url.URL) *http.Client {
	dial := &net.Dialer{Timeout: 5 * time.Second}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 16, DisableCompression: true}
	if loopback(u.Hostname()) {
		transport.Proxy = nil
		dial.Control = func(_, address string, _ syscall.RawConn) error {
			if host, _, err := net.SplitHostPort(address); err != nil || !loopback(host) {
				return errors.New("the name leads to another machine")
			}
			return nil
		}
	}
	transport.DialContext = dial.DialContext
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return errors.New("the server redirects, and edge doesn't follow")
	}}
}

// Clean makes a server's words safe to show and short: nothing in them can move a cursor or hide another text.
func Clean(text string) string {
	const longest = 400
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.TrimSpace(text))
	if r := []rune(text); len(r) > longest {
		text = string(r[:longest]) + "…"
	}
	return text
}

// Trouble gives the code for what an exchange with a server at u failed with; began says that it was answering already.
func Trouble(ctx context.Context, u *url.URL, err error, began bool) error {
	var coded *fault.Error
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &coded), errors.Is(err, errStop):
		return err
	case began:
		return fault.New(fault.CodeServedStreamCut, "%s: the reply ended in the middle: %w", u.Host, err)
	}
	return fault.New(fault.CodeModelServerAbsent, "%s: %w", u.Host, err)
}
