package process

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/report"
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
	server := newServer(new(admin).routes(prometheus.NewRegistry(), unlocked(t), true, false), slog.New(slog.DiscardHandler))
	server.ReadTimeout, server.WriteTimeout = 200*time.Millisecond, 400*time.Millisecond
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close(); <-ended })
	for _, path := range []string{"profile?seconds=1", "trace?seconds=1"} {
		began := time.Now()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+"/debug/pprof/"+path, nil)
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

// TestSlowClients: the server closes the connection of a client that does not send its request, or not
// the body that it announced.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 1)
	server := newServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		failed <- err
	}), slog.New(slog.DiscardHandler))
	if server.ReadHeaderTimeout == 0 || server.ReadTimeout == 0 || server.WriteTimeout == 0 || server.IdleTimeout == 0 || server.MaxHeaderBytes == 0 {
		t.Errorf("a server without limits: %+v", server)
	}
	server.ReadHeaderTimeout, server.ReadTimeout = 200*time.Millisecond, 400*time.Millisecond
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close(); <-ended })
	for _, text := range []string{"GET / HTTP/1.1\r\nHost: localhost\r\n", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\na=1"} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, conn) // until the server closes it; a server that does not hangs the test
		_ = conn.Close()
	}
	if err := <-failed; err == nil {
		t.Error("an incomplete body was read")
	}
}
