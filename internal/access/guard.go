package access

import (
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
)

// policy allows pages to load resources of this server only, and no inline code.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors "

// What pages of other sites may do, below Path.
const (
	// EmbedScript may be loaded by every site: it shows a page behind a link, in a frame.
	EmbedScript = "/embed.js"
	// api may be called by the sites of http.cors.
	api = "/api/"
)

// framed are the folders of the pages that the sites of http.frame_ancestors may show in a frame: those behind links.
var framed = []string{"/r/", "/o/"}

// MaxBody is the maximum size of the body of a request, in bytes. It is larger than the default of
// limits.parameter_bytes.
const MaxBody = 1 << 20

// Guard refuses requests that no page or service of this server sends, and sets the security headers
// of pages.
func (s *Site) Guard(next http.Handler) http.Handler {
	own := http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, path := w.Header(), strings.TrimPrefix(r.URL.Path, s.path)
		ancestors := "'none'"
		behind := func(folder string) bool { return strings.HasPrefix(path, folder) }
		if len(s.frames) > 0 && slices.ContainsFunc(framed, behind) {
			ancestors = strings.Join(s.frames, " ")
		}
		h.Set("Content-Security-Policy", policy+ancestors)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		r.Body = http.MaxBytesReader(w, r.Body, MaxBody)
		switch {
		case !s.known(r):
			http.Error(w, "This server does not accept that host name: use "+here(r)+
				", or set http.url in its configuration.", http.StatusMisdirectedRequest)
		case path == EmbedScript && len(s.frames) > 0:
			h.Set("Cross-Origin-Resource-Policy", "cross-origin")
			own.ServeHTTP(w, r)
		case strings.HasPrefix(path, api) && s.cors(w, r):
			if r.Method == http.MethodOptions {
				w.WriteHeader(http.StatusNoContent)
				return
			}
			next.ServeHTTP(w, r)
		case r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate":
			http.Error(w, "Requests from pages of other sites are refused.", http.StatusForbidden)
		default:
			own.ServeHTTP(w, r)
		}
	})
}

// cors reports whether a request comes from a page of a site of http.cors and may call the API, and lets that page read
// the answer. A browser must have sent the request without cookies and without a password that it remembers: to a
// request that changes something, a header is required that it sends only after a preflight without credentials.
func (s *Site) cors(w http.ResponseWriter, r *http.Request) bool {
	h, origin := w.Header(), r.Header.Get("Origin")
	if len(s.origins) > 0 {
		h.Add("Vary", "Origin")
	}
	if !slices.Contains(s.origins, origin) || r.Header.Get("Cookie") != "" {
		return false
	}
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); !reads && kind != "application/json" {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "Location, Idempotency-Replayed, Content-Disposition, Retry-After")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	if r.Method == http.MethodOptions {
		h.Set("Access-Control-Allow-Methods", "GET, POST")
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key")
		h.Set("Access-Control-Max-Age", "600")
	}
	return true
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
