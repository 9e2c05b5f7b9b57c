package process

import (
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
)

// profiles adds /debug/pprof, for go tool pprof, except the command line of the process. Package pprof
// adds the time of a profile to the server's time for an answer.
func profiles(mux *http.ServeMux) {
	for path, handler := range map[string]http.HandlerFunc{
		"/debug/pprof/": pprof.Index, "/debug/pprof/profile": pprof.Profile, "/debug/pprof/trace": pprof.Trace, "/debug/pprof/symbol": pprof.Symbol,
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			if !toLoopback(r) {
				http.Error(w, "profiles are served to this machine only: ask 127.0.0.1 or localhost", http.StatusForbidden)
				return
			}
			handler(w, r)
		})
	}
}

// toLoopback tells whether a request names this machine. One that does not can come from a web page
// whose own name was pointed to 127.0.0.1, to read the answer in the browser of an operator.
func toLoopback(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
