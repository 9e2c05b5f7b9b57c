package access

import (
	"context"
	"net/http"
	"net/netip"

	"github.com/fanfold/fanfold/report"
)

// Login identifies the user. Viewers may read; operators may also make changes, which are all requests
// except GET and HEAD. Every change is logged.
func (s *Site) Login(next http.Handler) http.Handler {
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
		switch {
		case r.Method == http.MethodGet || r.Method == http.MethodHead:
			s.read(w, r, who.Name, next)
		case !who.Operator():
			s.audit(r, who, http.StatusForbidden, nil)
			http.Error(w, s.refusal(), http.StatusForbidden)
		default:
			s.change(w, r, who, next)
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
		s.log.Warn("login refused", "user", shown(name), "from", r.RemoteAddr)
		return "", false, nil
	}
	return "", s.header == "", nil
}

// proxied reports whether a request comes from a trusted proxy.
func (s *Site) proxied(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	for _, network := range s.proxies {
		if network.Contains(from.Addr().Unmap()) {
			return true
		}
	}
	return false
}
