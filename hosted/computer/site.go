package computer

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"edge/hosted"
	"edge/internal/fault"
)

// pagesHost is the name under which the proxy serves the folder of pages. The browser never opens file: addresses, so a
// page can't reach beyond the folder, whatever it names; .test is reserved and resolves to nothing.
const pagesHost = "pages.test"

// site is what the browser may show.
type site struct {
	pages   *os.Root // nil: no folder
	folder  string   // of pages, absolute, with links resolved
	origins []string
	network bool
}

func newSite(o options, env hosted.Environment) (*site, error) {
	s := &site{origins: o.Sites, network: env.AllowNetwork}
	if o.Pages == "" && len(o.Sites) == 0 && !s.network {
		return nil, hosted.NeedsNetwork("a computer tool without pages=\"folder\" or sites=[\"http://127.0.0.1:PORT\"]")
	}
	if o.Pages == "" {
		return s, nil
	}
	folder, err := filepath.EvalSymlinks(o.Pages)
	if err == nil {
		folder, err = filepath.Abs(folder)
	}
	if err != nil {
		return nil, fault.New(fault.CodeInvalidToolMetadata, "ComputerTool: pages: %w", err)
	}
	if s.pages, err = os.OpenRoot(folder); err != nil {
		return nil, fault.New(fault.CodeInvalidToolMetadata, "ComputerTool: pages: %w", err)
	}
	s.folder = folder
	return s, nil
}

func (s *site) close() error {
	if s.pages == nil {
		return nil
	}
	return s.pages.Close()
}

// allows says whether the browser may ask for u, and if not, why.
func (s *site) allows(u *url.URL) error {
	switch {
	case u.Scheme == "data" || u.Scheme == "blob" || u.Scheme == "about":
		return nil // made by the page itself
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%s: addresses can't be opened", u.Scheme)
	case u.Scheme == "http" && u.Host == pagesHost && s.pages != nil, slices.Contains(s.origins, origin(u)), s.network:
		return nil
	}
	return fmt.Errorf("%s is neither one of the pages nor one of the sites that the tool was given", u.Host)
}

// errNoPage is what a model can learn from: the page isn't there.
type errNoPage struct{ error }

// resolve makes the browser's address of what a model or the user wrote: a file in the folder of pages, relative or as a
// path or file: address, or an http address. Errors: network_not_allowed, and errNoPage, which is told to the model.
func (s *site) resolve(text string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || text == "" {
		return "", errNoPage{fmt.Errorf("%q isn't an address", text)}
	}
	switch u.Scheme {
	case "", "file":
		return s.resolveFile(u)
	case "about":
		return "about:blank", nil
	case "http", "https":
		if u.Host == "" {
			return "", errNoPage{fmt.Errorf("%q isn't an address", text)}
		}
		if s.allows(u) == nil {
			return u.String(), nil
		}
		return "", hosted.NeedsNetwork("opening " + u.Scheme + "://" + u.Host + ", which isn't one of the tool's sites,")
	}
	return "", errNoPage{fmt.Errorf("%s: addresses can't be opened", u.Scheme)}
}

func (s *site) resolveFile(u *url.URL) (string, error) {
	if s.pages == nil {
		return "", errNoPage{errors.New("the tool was given no folder of pages")}
	}
	name := filepath.FromSlash(u.Path)
	if filepath.IsAbs(name) {
		// The folder may have been named through a link.
		if real, err := filepath.EvalSymlinks(name); err == nil {
			name = real
		}
		rel, err := filepath.Rel(s.folder, name)
		if err != nil || !filepath.IsLocal(rel) {
			return "", errNoPage{fmt.Errorf("%s lies outside the folder of pages", u.Path)}
		}
		name = rel
	}
	slash := path.Clean(filepath.ToSlash(name))
	if _, err := fs.Stat(s.pages.FS(), slash); err != nil {
		return "", errNoPage{fmt.Errorf("there is no page %s", slash)}
	}
	page := url.URL{Scheme: "http", Host: pagesHost, Path: "/" + slash, RawQuery: u.RawQuery, Fragment: u.Fragment}
	return page.String(), nil
}

// shown is an address of the browser as the user knows it.
func (s *site) shown(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host != pagesHost {
		return address
	}
	u.Scheme, u.Host = "file", ""
	u.Path = path.Join(filepath.ToSlash(s.folder), u.Path)
	return u.String()
}
