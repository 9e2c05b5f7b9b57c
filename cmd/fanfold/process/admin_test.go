package process

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/web"
	"github.com/prometheus/client_golang/prometheus"
)

// unlocked is a site without a login.
func unlocked(t *testing.T) *access.Site {
	t.Helper()
	site, err := access.New(report.Site{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return site
}

// TestProfilesAreLocal: profiles are served on loopback only, and only for its host names.
func TestProfilesAreLocal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		local      bool
		host, path string
		want       int
	}{
		{true, "127.0.0.1:9464", "/debug/pprof/", 200}, {true, "localhost:9464", "/debug/pprof/heap", 200}, {true, "[::1]:9464", "/debug/pprof/goroutine", 200},
		{true, "localhost", "/debug/pprof/symbol", 200}, {true, "127.0.0.1:9464", "/debug/pprof/cmdline", 404},
		{true, "evil.example:9464", "/debug/pprof/heap", 421}, {true, "10.0.0.1:9464", "/debug/pprof/profile", 421}, {true, "", "/debug/pprof/", 421},
		{false, "127.0.0.1:9464", "/debug/pprof/", 404}, {false, "127.0.0.1:9464", "/debug/pprof/profile", 404},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, c.path, nil)
		r.Host = c.host
		w := httptest.NewRecorder()
		new(admin).routes(prometheus.NewRegistry(), unlocked(t), c.local, false).ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%+v: %d", c, w.Code)
		}
	}
}

// TestAProfileTakesLongerThanTheTimeouts: a profile of 30 seconds takes longer than the timeouts of the
// server. Both are shortened here.
func TestAProfileTakesLongerThanTheTimeouts(t *testing.T) {
	t.Parallel()
	server, err := web.Listen(t.Context(), web.Address{Addr: "127.0.0.1:0", Grace: time.Second}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	server.HTTP.ReadTimeout, server.HTTP.WriteTimeout = 200*time.Millisecond, 400*time.Millisecond
	server.Serve(t.Context(), new(admin).routes(prometheus.NewRegistry(), unlocked(t), true, false))
	for _, path := range []string{"profile?seconds=1", "trace?seconds=1"} {
		began := time.Now()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+server.Addr+"/debug/pprof/"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Close = true
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || len(body) < 100 {
			t.Errorf("%s: %d, %d bytes, %v", path, response.StatusCode, len(body), err)
		}
		if took := time.Since(began); took < time.Second {
			t.Errorf("%s ended after %s", path, took)
		}
	}
}
