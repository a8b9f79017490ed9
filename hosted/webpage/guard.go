package webpage

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

// errPrivate is an address that a web page must not be read from.
var errPrivate = errors.New("isn't a public address")

// RefusePrivate is a net.Dialer's Control: it sees the address that a connection is about to be made to, after names were
// resolved and on every redirect, so neither a name that changes its mind nor a redirect leads past it.
func RefusePrivate(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%s %w", address, errPrivate)
	}
	if !public(at.Addr()) {
		return fmt.Errorf("%s %w", at.Addr(), errPrivate)
	}
	return nil
}

// public reports whether anybody on the Internet could reach the address: IANA's special-purpose registries, the clouds'
// metadata services among them, are left out.
func public(a netip.Addr) bool {
	a = a.Unmap()
	if a.Is4() {
		return !inside(a, special4())
	}
	// The well-known translation prefix carries an IPv4 address; nothing else outside 2000::/3 is public.
	if translated := netip.MustParsePrefix("64:ff9b::/96"); translated.Contains(a) {
		b := a.As16()
		return public(netip.AddrFrom4([4]byte(b[12:])))
	}
	return netip.MustParsePrefix("2000::/3").Contains(a) && a.Zone() == "" && !inside(a, special6())
}

func inside(a netip.Addr, prefixes []string) bool {
	for _, p := range prefixes {
		if netip.MustParsePrefix(p).Contains(a) {
			return true
		}
	}
	return false
}

func special4() []string {
	return []string{
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
		"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
		"168.63.129.16/32", // Azure's own service, which answers every virtual machine there
	}
}

func special6() []string {
	return []string{"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"}
}
