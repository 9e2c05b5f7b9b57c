package process

import (
	"net/http"
	"net/http/pprof"
)

// profiles adds /debug/pprof, for go tool pprof, without the command line of the process. Package
// pprof extends the server's write timeout by the duration of a profile.
func profiles(mux *http.ServeMux) {
	for path, handler := range map[string]http.HandlerFunc{
		"/debug/pprof/":        pprof.Index,
		"/debug/pprof/profile": pprof.Profile,
		"/debug/pprof/trace":   pprof.Trace,
		"/debug/pprof/symbol":  pprof.Symbol,
	} {
		mux.HandleFunc("GET "+path, handler)
	}
}
