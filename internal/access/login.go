package access

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/report"
)

// Login identifies the user. Viewers may read; operators may also make changes, which are all requests
// except GET and HEAD. Every change is logged, and is in the audit stream as an act by that face.
func (s *Site) Login(face string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok, err := s.name(r)
		if err != nil {
			w.Header().Set("Retry-After", "5")
			http.Error(w, "Too many logins at once: try again in a moment.", http.StatusTooManyRequests)
			return
		}
		if !ok {
			if s.users != nil {
				w.Header().Set("WWW-Authenticate", `Basic realm="Fanfold", charset="UTF-8"`)
			}
			http.Error(w,
				"Log in with the name and the password of a user of http.users, or through the proxy of http.trusted_header.", http.StatusUnauthorized)
			return
		}
		who := Who{Name: name, Role: Viewer}
		if !s.readOnly && (!s.HasLogin() || s.operators[name]) {
			who.Role = Operator
		}
		r = r.WithContext(context.WithValue(r.Context(), key{}, who))
		actor := &audit.Actor{Who: name, By: face, From: s.from(r), Log: s.log}
		switch {
		case r.Method == http.MethodGet || r.Method == http.MethodHead:
			s.read(w, r, who.Name, next)
		case !who.Operator():
			s.audit(r, actor, http.StatusForbidden, s.refusal(), nil)
			http.Error(w, s.refusal(), http.StatusForbidden)
		default:
			s.change(w, r, actor, next)
		}
	})
}

// refusal says why a user may not make changes.
func (s *Site) refusal() string {
	if s.readOnly {
		return "This server is read only: http.read_only is set."
	}
	return "You may only read: http.operators names the users who may make changes."
}

// name returns the name of the user; false: the login is missing or wrong. Without a login in the
// configuration the name is empty. The only error is errBusy.
func (s *Site) name(r *http.Request) (string, bool, error) {
	if s.header != "" && s.proxied(r) {
		if values := r.Header.Values(s.header); len(values) == 1 && report.ValidUser(values[0]) {
			return values[0], true, nil
		}
	}
	if s.users != nil {
		name, password, ok := r.BasicAuth()
		if !ok {
			return "", false, nil
		}
		if ok, err := s.users.check(r.Context(), name, password); ok || err != nil {
			return name, ok, err
		}
		s.log.Warn("login refused", "user", shown(name), "from", s.from(r))
		return "", false, nil
	}
	return "", s.header == "", nil
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
