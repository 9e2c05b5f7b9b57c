package process

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/web"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
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

// TestMetricNames checks the names of the metrics against Prometheus's own rules.
func TestMetricNames(t *testing.T) {
	t.Parallel()
	p := open(t, "")
	registry := prometheus.NewRegistry()
	if err := p.RegisterMetrics(registry); err != nil {
		t.Fatal(err)
	}
	p.Metrics = registry
	for _, role := range Roles {
		if _, err := p.Role(t.Context(), role, "c", slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %+v", err, problems)
	}
	found, err := registry.Gather()
	if err != nil || len(found) < 20 {
		t.Errorf("%d metrics, %v", len(found), err)
	}
}

// TestAdminAddress: serve ends with an error if the address of --admin is in use.
func TestAdminAddress(t *testing.T) {
	t.Parallel()
	p := open(t, "")
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	p.Config.Admin.Listen = taken.Addr().String()
	err = p.Serve(t.Context(), Roles, slog.New(slog.DiscardHandler))
	if !errors.Is(err, fault.Config) || !strings.Contains(err.Error(), "cannot listen on "+p.Config.Admin.Listen) {
		t.Error(err)
	}
}
