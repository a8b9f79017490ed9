package computer

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"

	"edge/hosted"
	"edge/internal/fault"
)

// options is what the Python side's ComputerTool says.
type options struct {
	// Environment is always "browser"; SDKs have others.
	Environment string `json:"environment"`
	// Pages is a folder of HTML files, from the tools file's folder; empty: none.
	Pages string `json:"pages"`
	// Sites are origins on this machine, such as http://127.0.0.1:8000.
	Sites []string `json:"sites"`
	// StartURL is the first page: a file in Pages, or an address.
	StartURL string `json:"start_url"`
	// Width and Height are the page's size in CSS pixels.
	Width  int64 `json:"width"`
	Height int64 `json:"height"`
}

func readOptions(raw json.RawMessage, env hosted.Environment) (options, error) {
	o := options{Environment: "browser", Width: 1024, Height: 768}
	if err := hosted.Options(raw, &o); err != nil {
		return o, err
	}
	if o.Pages != "" && !filepath.IsAbs(o.Pages) {
		o.Pages = filepath.Join(env.Base, o.Pages)
	}
	for i, site := range o.Sites {
		origin, err := localOrigin(site)
		if err != nil {
			return o, fault.New(fault.CodeInvalidToolMetadata, "ComputerTool: sites: %w", err)
		}
		o.Sites[i] = origin
	}
	return o, nil
}

// localOrigin is the origin of an address of this machine, written one way. Other machines need --allow-network.
func localOrigin(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" || u.Host == "" || strings.Trim(u.Path, "/")+u.RawQuery+u.Fragment != "" || u.User != nil {
		return "", fmt.Errorf("want http://127.0.0.1:PORT, got %q", text)
	}
	if name := u.Hostname(); !strings.EqualFold(name, "localhost") {
		if ip := net.ParseIP(name); ip == nil || !ip.IsLoopback() {
			return "", fmt.Errorf("%s isn't this machine; other sites need --allow-network", name)
		}
	}
	return origin(u), nil
}

// origin is scheme, host and port of u, in lower case and with the port written out.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Scheme) + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}
