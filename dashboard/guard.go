package dashboard

import (
	"net"
	"net/http"
	"net/netip"
)

// policy lets a page load what this server sends, and nothing else: no inline code runs.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// guard refuses what no page sends, and tells browsers what pages may do. Requests whose Host is not
// the loopback interface come from a foreign page whose name was pointed at it (DNS rebinding).
func guard(next http.Handler) http.Handler {
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch {
		case !loopback(r.Host):
			http.Error(w, "This server answers at a loopback address only, such as http://127.0.0.1.", http.StatusMisdirectedRequest)
		case r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate":
			http.Error(w, "Pages of other sites get nothing from here.", http.StatusForbidden)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "The dashboard is read only.", http.StatusMethodNotAllowed)
		default:
			next.ServeHTTP(w, r)
		}
	}))
}

// loopback tells whether a Host header names the loopback interface.
func loopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	if name == "localhost" {
		return true
	}
	at, err := netip.ParseAddr(trimBrackets(name))
	return err == nil && at.IsLoopback()
}

func trimBrackets(name string) string {
	if len(name) > 2 && name[0] == '[' && name[len(name)-1] == ']' {
		return name[1 : len(name)-1]
	}
	return name
}
