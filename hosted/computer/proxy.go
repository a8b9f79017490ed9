package computer

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	"edge/hosted/webpage"
)

// proxy is the browser's only way out. It listens on loopback and passes on what site allows: GET and HEAD, and the one
// request that was let through by name. Tunnels, and with them https and web sockets, are there only with the network,
// and lead to public addresses only.
type proxy struct {
	site     *site
	server   *http.Server
	listener net.Listener
	local    *httputil.ReverseProxy
	public   *httputil.ReverseProxy
	dialer   net.Dialer

	mu   sync.Mutex
	pass string // "METHOD address" of a request that may pass once
}

func newProxy(s *site) (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{site: s, listener: listener, dialer: net.Dialer{Timeout: 10 * time.Second, Control: webpage.RefusePrivate}}
	p.local = forward((&net.Dialer{Timeout: 10 * time.Second}).DialContext)
	p.public = forward(p.dialer.DialContext)
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second}
	go p.server.Serve(listener)
	return p, nil
}

func forward(dial func(context.Context, string, string) (net.Conn, error)) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:   func(*httputil.ProxyRequest) {}, // the request names its target in full
		Transport: &http.Transport{DialContext: dial, ResponseHeaderTimeout: 30 * time.Second},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) close() error { return p.server.Close() }

// letThrough lets one request pass, once.
func (p *proxy) letThrough(method, address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pass = method + " " + address
}

func (p *proxy) passes(r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pass != r.Method+" "+r.URL.String() {
		return false
	}
	p.pass = ""
	return true
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect:
		p.tunnel(w, r)
	case r.URL.Scheme != "http" || p.site.allows(r.URL) != nil:
		http.Error(w, "edge doesn't allow this address", http.StatusForbidden)
	case !p.passes(r):
		http.Error(w, "edge doesn't allow this method", http.StatusForbidden)
	case r.URL.Host == pagesHost:
		w.Header().Set("Cache-Control", "no-store")
		http.FileServerFS(p.site.pages.FS()).ServeHTTP(w, r)
	case p.isLocal(r.URL):
		p.local.ServeHTTP(w, r)
	default:
		p.public.ServeHTTP(w, r)
	}
}

// isLocal reports whether u is one of the sites that the user named.
func (p *proxy) isLocal(u *url.URL) bool {
	named := site{origins: p.site.origins}
	return named.allows(u) == nil
}

func (p *proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	if _, port, err := net.SplitHostPort(r.Host); err != nil || port != "443" || !p.site.network {
		http.Error(w, "edge doesn't allow this address", http.StatusForbidden)
		return
	}
	there, err := p.dialer.DialContext(r.Context(), "tcp", r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		there.Close()
		return
	}
	io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n")
	go func() {
		defer there.Close()
		io.Copy(there, buffered)
	}()
	defer here.Close()
	io.Copy(here, there)
}
