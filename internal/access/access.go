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

// Role is what a user may do.
type Role int

// The roles. Each includes the rights of the one before it.
const (
	Viewer   Role = iota + 1 // reads
	Operator                 // makes changes
)

// Who is the user of a request.
type Who struct {
	Name string // empty: there is no login
	Role Role
}

// May reports whether the user has a role.
func (w Who) May(r Role) bool { return w.Role >= r }

// Operator reports whether the user may make changes.
func (w Who) Operator() bool { return w.May(Operator) }

type key struct{}

// Of returns the user of a request that Login has accepted.
func Of(ctx context.Context) Who {
	who, _ := ctx.Value(key{}).(Who)
	return who
}

// Site decides which requests are accepted.
type Site struct {
	hosts     map[string]bool // host names that requests may have, besides addresses of this machine
	path      string          // before every path, such as /fanfold; empty: none
	users     *users          // who log in with a password; nil: none
	header    string          // in which a proxy names the user; empty: no proxy
	proxies   []netip.Prefix
	operators map[string]bool
	readOnly  bool
	public    bool
	log       *slog.Logger

	// Audit appends an act to the audit stream; nil: there is none. Set it before the first request.
	Audit func(context.Context, *audit.Actor, audit.Act)
}

// New makes the Site of a validated configuration.
func New(c report.Site, log *slog.Logger) (*Site, error) {
	s := &Site{hosts: map[string]bool{"localhost": true}, operators: map[string]bool{}, readOnly: c.ReadOnly,
		header: c.TrustedHeader.Name, log: log}
	if c.URL != "" {
		u, err := url.Parse(c.URL)
		if err != nil {
			return nil, fmt.Errorf("http.url: %w", err)
		}
		s.hosts[strings.ToLower(u.Hostname())] = true
		s.public = u.Hostname() != "localhost" && !Loopback(u.Host)
		s.path = strings.TrimRight(u.Path, "/")
	}
	if c.Users != "" {
		known, err := report.ParseUsers(c.Users.Reveal())
		if err != nil {
			return nil, fmt.Errorf("http.users: %w", err)
		}
		s.users = newUsers(known)
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
	for _, name := range c.Operators {
		s.operators[name] = true
	}
	return s, nil
}

// Path returns the prefix of all paths of the server, such as /fanfold, or nothing.
func (s *Site) Path() string { return s.path }

// Public reports whether people reach the server under another host name, through a proxy.
func (s *Site) Public() bool { return s.public }

// HasLogin reports whether the Site identifies users.
func (s *Site) HasLogin() bool { return s.users != nil || s.header != "" }

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
