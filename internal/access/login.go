package access

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/report"
)

// everyone is the name that a group has for all users who log in.
const everyone = "*"

// Login identifies the user, or the service by its token, which only the API takes. Whoever has the right to change
// anything may send other requests than GET and HEAD: the handlers decide what exactly. Every change is logged, and is
// in the audit stream as an act by that face.
func (s *Site) Login(face string, next http.Handler) http.Handler { return login{s, face, next} }

// login is the handler of a face that requires a login.
type login struct {
	*Site
	face string
	next http.Handler
}

// ServeHTTP implements http.Handler.
func (l login) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	who, ok, err := l.who(r)
	switch {
	case errors.Is(err, errBusy):
		w.Header().Set("Retry-After", "5")
		http.Error(w, "Too many logins at once: try again in a moment.", http.StatusTooManyRequests)
		return
	case err != nil:
		l.log.Error("no request with a session is accepted", "err", err)
		w.Header().Set("Retry-After", "5")
		http.Error(w, "Redis does not answer, so that nobody knows whether you have logged out: try again in a moment.",
			http.StatusServiceUnavailable)
		return
	case !ok:
		l.unknown(w, r)
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), key{}, who))
	actor := &audit.Actor{Who: who.Name, By: l.face, From: l.from(r), Log: l.log}
	switch {
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		l.read(w, r, who.Name, l.next)
	case !who.Changes():
		l.audit(r, actor, http.StatusForbidden, l.refusal(), nil)
		http.Error(w, l.refusal(), http.StatusForbidden)
	default:
		l.change(w, r, actor, l.next)
	}
}

// unknown answers a request without a valid login.
func (l login) unknown(w http.ResponseWriter, r *http.Request) {
	if l.redirects(w, r) {
		return
	}
	text := "Log in with the name and the password of a user of http.users, or through the proxy of http.trusted_header."
	_, err := r.Cookie(Cookie)
	// Who uses the form is not asked by the browser, also not for what a script of a page loads after a logout.
	script := r.Header.Get("Sec-Fetch-Mode") != "" && r.Header.Get("Sec-Fetch-Mode") != "navigate"
	if l.users != nil && err != nil && (l.Form() == nil || !script) {
		w.Header().Set("WWW-Authenticate", `Basic realm="Fanfold", charset="UTF-8"`)
	}
	if l.face == audit.API && l.tokens != nil {
		w.Header().Add("WWW-Authenticate", `Bearer realm="Fanfold"`)
		text = "Send the header Authorization: Bearer TOKEN, with a token of http.tokens. " + text
	}
	http.Error(w, text, http.StatusUnauthorized)
}

// refusal says why a user may not make changes.
func (l login) refusal() string {
	if l.readOnly {
		return "This server is read only: http.read_only is set."
	}
	return "You may only read: http.groups names who may make changes."
}

// who returns the user, or the service, of a request; false: the login is missing or wrong. The errors are
// those of name.
func (l login) who(r *http.Request) (Who, bool, error) {
	if !l.HasLogin() {
		return Who{all: true, reads: l.readOnly}, true, nil
	}
	if _, has := bearer(r); has && l.face == audit.API && l.tokens != nil {
		name := l.tokens.name(r)
		if name == "" {
			l.log.Warn("token refused", "from", l.from(r))
		}
		return l.member(name, func(g report.Group) bool { return slices.Contains(g.Tokens, name) }), name != "", nil
	}
	name, session, err := l.name(r)
	who := l.member(name, func(g report.Group) bool {
		return slices.Contains(g.Users, everyone) || slices.Contains(g.Users, name)
	})
	if who.Session = session; session {
		who.lasts = func(ctx context.Context) (bool, error) {
			name, err := l.cookie(r.WithContext(ctx))
			return name != "", err
		}
	}
	return who, name != "", err
}

// member returns the user with a name, who is in some groups.
func (l login) member(name string, in func(report.Group) bool) Who {
	who := Who{Name: name, reads: l.readOnly}
	for _, g := range l.groups {
		if in(g) {
			who.groups = append(who.groups, g)
		}
	}
	return who
}

// name returns the name of the user, and whether that is by a session; empty: the login is missing or wrong. The
// errors are errBusy and errSessions.
func (l login) name(r *http.Request) (name string, session bool, err error) {
	if l.header != "" && l.proxied(r) {
		if values := r.Header.Values(l.header); len(values) == 1 && report.ValidUser(values[0]) {
			return values[0], false, nil
		}
	}
	if l.users == nil {
		return "", false, nil
	}
	name, password, ok := r.BasicAuth()
	if !ok {
		name, err = l.cookie(r)
		return name, name != "", err
	}
	if ok, err = l.users.ask(l.Site, r, name, password); !ok {
		name = ""
	}
	return name, false, err
}

// proxied reports whether a request comes from a trusted proxy.
func (s *Site) proxied(r *http.Request) bool {
	from, ok := parse(host(r.RemoteAddr))
	return ok && among(s.proxies, from)
}

// among reports whether an address is in one of the networks.
func among(networks []netip.Prefix, from netip.Addr) bool {
	return slices.ContainsFunc(networks, func(network netip.Prefix) bool { return network.Contains(from) })
}

// from returns the address that a request comes from: the last one that a trusted proxy has added to X-Forwarded-For.
// What is before it may be forged.
func (s *Site) from(r *http.Request) string {
	from, ok := parse(host(r.RemoteAddr))
	if !ok {
		return ""
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		before, ok := parse(strings.TrimSpace(hop))
		if !ok || !among(s.proxies, from) {
			break
		}
		from = before
	}
	return from.String()
}
