package access

import (
	"context"
	"net/http"
	"net/netip"

	"github.com/fanfold/fanfold/report"
)

// Login lets viewers read, and operators make changes: every request but GET and HEAD is one. Each
// change is a line in the log.
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
			http.Error(w, "Log in with the name and the password of a user of http.users, or through the proxy of http.trusted_header.", http.StatusUnauthorized)
			return
		}
		who := Who{Name: name, Role: Viewer}
		if !s.readOnly && (!s.HasLogin() || s.operators[name]) {
			who.Role = Operator
		}
		r = r.WithContext(context.WithValue(r.Context(), key{}, who))
		switch {
		case r.Method == http.MethodGet || r.Method == http.MethodHead:
			next.ServeHTTP(w, r)
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
	return "You can read, and only operators can make changes: http.operators names them."
}

// name finds out who asks; false: nobody knows. Where there is no login the name is empty. The error is errBusy.
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

// proxied tells whether a request comes from a proxy that is believed.
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
