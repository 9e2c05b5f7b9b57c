package access

import (
	"net"
	"net/http"
)

// policy allows pages to load resources of this server only, and no inline code.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// MaxBody is the maximum size of the body of a request, in bytes. It is larger than the default of
// limits.parameter_bytes.
const MaxBody = 1 << 20

// Guard refuses requests that no page or service of this server sends, and sets the security headers
// of pages.
func (s *Site) Guard(next http.Handler) http.Handler {
	next = http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch {
		case !s.known(r):
			http.Error(w, "This server does not accept that host name: use "+here(r)+
				", or set http.url in its configuration.", http.StatusMisdirectedRequest)
		case r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate":
			http.Error(w, "Requests from pages of other sites are refused.", http.StatusForbidden)
		default:
			r.Body = http.MaxBytesReader(w, r.Body, MaxBody)
			next.ServeHTTP(w, r)
		}
	})
}

// here returns an address of the server.
func here(r *http.Request) string {
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		return "http://" + local.String()
	}
	return "its IP address"
}

// Below removes Path from the paths of requests.
func (s *Site) Below(next http.Handler) http.Handler {
	if s.path == "" {
		return next
	}
	mux := http.NewServeMux()
	mux.Handle(s.path+"/", http.StripPrefix(s.path, next))
	mux.Handle("GET /{$}", http.RedirectHandler(s.path+"/", http.StatusSeeOther))
	return mux
}
