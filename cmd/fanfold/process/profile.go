package process

import (
	"net/http"
	"net/http/pprof"
)

// profiles adds /debug/pprof, for go tool pprof, except the command line of the process. Package pprof
// adds the time of a profile to the server's time for an answer.
func profiles(mux *http.ServeMux) {
	for path, handler := range map[string]http.HandlerFunc{
		"/debug/pprof/": pprof.Index, "/debug/pprof/profile": pprof.Profile, "/debug/pprof/trace": pprof.Trace, "/debug/pprof/symbol": pprof.Symbol,
	} {
		mux.HandleFunc("GET "+path, handler)
	}
}
