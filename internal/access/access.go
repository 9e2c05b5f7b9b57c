package access

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/report"
)

// Site decides which requests are accepted.
type Site struct {
	hosts    map[string]bool // host names that requests may have, besides addresses of this machine
	path     string          // before every path, such as /fanfold; empty: none
	users    *users          // who log in with a password; nil: none
	header   string          // in which a proxy names the user; empty: no proxy
	proxies  []netip.Prefix
	tokens   tokens
	groups   []report.Group
	readOnly bool
	public   bool
	secure   bool     // browsers reach the server with https
	frames   []string // origins of pages that may show those behind links in a frame
	origins  []string // of pages that may call the API
	log      *slog.Logger

	// Audit appends an act to the audit stream; nil: there is none. Set it before the first request.
	Audit func(context.Context, *audit.Actor, audit.Act)
	// Sessions lets users log in with a form; nil: there is none. Set it before the first request.
	Sessions Sessions
}

// New makes the Site of a validated configuration.
func New(c report.Site, log *slog.Logger) (*Site, error) {
	s := &Site{hosts: map[string]bool{"localhost": true}, groups: c.Groups, readOnly: c.ReadOnly,
		header: c.TrustedHeader.Name, frames: c.FrameAncestors, origins: c.CORS, log: log}
	if len(c.Groups) == 0 {
		s.groups = []report.Group{{Users: []string{everyone}, May: []string{report.See, report.Download}}}
	}
	if c.URL != "" {
		u, err := url.Parse(c.URL)
		if err != nil {
			return nil, fmt.Errorf("http.url: %w", err)
		}
		s.hosts[strings.ToLower(u.Hostname())] = true
		s.public = u.Hostname() != "localhost" && !Loopback(u.Host)
		s.path, s.secure = strings.TrimRight(u.Path, "/"), u.Scheme == "https"
	}
	if c.Users != "" {
		known, err := report.ParseUsers(c.Users.Reveal())
		if err != nil {
			return nil, fmt.Errorf("http.users: %w", err)
		}
		s.users = newUsers(known)
	}
	if c.Tokens != "" {
		known, err := report.ParseTokens(c.Tokens.Reveal())
		if err != nil {
			return nil, fmt.Errorf("http.tokens: %w", err)
		}
		s.tokens = newTokens(known)
	}
	for _, text := range c.TrustedHeader.Proxies {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			at, err := netip.ParseAddr(text)
			if err != nil {
				return nil, fmt.Errorf("http.trusted_header.proxies: %w", err)
			}
			network = netip.PrefixFrom(at, at.BitLen())
		}
		s.proxies = append(s.proxies, network)
	}
	return s, nil
}

// Path returns the prefix of all paths of the server, such as /fanfold, or nothing.
func (s *Site) Path() string { return s.path }

// Public reports whether people reach the server under another host name, through a proxy.
func (s *Site) Public() bool { return s.public }

// HasLogin reports whether the Site identifies users.
func (s *Site) HasLogin() bool { return s.users != nil || s.header != "" || s.tokens != nil }

// Loopback reports whether an address, with or without a port, is on the loopback interface.
func Loopback(address string) bool {
	at, ok := parse(host(address))
	return ok && at.IsLoopback()
}

// host cuts the port off host:port.
func host(address string) string {
	if name, _, err := net.SplitHostPort(address); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(address, "["), "]")
}

func parse(host string) (netip.Addr, bool) {
	at, err := netip.ParseAddr(host)
	return at.Unmap(), err == nil
}

// known reports whether a request names a host of this server. If not, it may come from a page whose
// name was redirected to this machine (DNS rebinding).
func (s *Site) known(r *http.Request) bool {
	name := strings.ToLower(host(r.Host))
	if s.hosts[name] {
		return true
	}
	at, ok := parse(name)
	if !ok {
		return false
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local == nil {
		return at.IsLoopback()
	}
	here, ok := parse(host(local.String()))
	return ok && (here == at || here.IsLoopback() && at.IsLoopback())
}
