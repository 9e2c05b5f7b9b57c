package web

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/report"
)

// listen makes a server that the test closes.
func listen(t *testing.T, of Address) *Server {
	t.Helper()
	of.Grace = time.Second
	server, err := Listen(t.Context(), of, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

// TestSlowClients: the server closes the connection of a client that does not send its request, or not
// the body that it announced.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 1)
	server := listen(t, Address{Addr: "127.0.0.1:0"})
	of := server.HTTP
	if of.ReadHeaderTimeout == 0 || of.ReadTimeout == 0 || of.WriteTimeout == 0 || of.IdleTimeout == 0 || of.MaxHeaderBytes == 0 {
		t.Errorf("a server without limits: %+v", of)
	}
	of.ReadHeaderTimeout, of.ReadTimeout = 200*time.Millisecond, 400*time.Millisecond
	server.Serve(t.Context(), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		failed <- err
	}))
	for _, text := range []string{"GET / HTTP/1.1\r\nHost: localhost\r\n", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\na=1"} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Addr)
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

// TestListen: an address that other machines can reach needs a login, unless it is public.
func TestListen(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	taken := listen(t, Address{Addr: "127.0.0.1:0"})
	if !taken.Local {
		t.Error("loopback is not local")
	}
	for want, of := range map[string]Address{
		"admin: cannot listen on " + taken.Addr:                                                     {Addr: taken.Addr},
		"admin: 0.0.0.0:0 can be reached from other machines, and the server has no login: do that": {Addr: "0.0.0.0:0"},
		"http.url: ": {Addr: "127.0.0.1:0", Site: report.Site{URL: "http://[::1"}},
	} {
		of.Name, of.Remedy = "admin", "do that"
		if s, err := Listen(t.Context(), of, log); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %q", err, want)
			s.Close()
		}
	}
	if public := listen(t, Address{Addr: "0.0.0.0:0", Public: true}); public.Local {
		t.Error("0.0.0.0 is local")
	}
}

// TestCloseWaits: a running request can end within the grace period, and its context ends with that of Serve.
func TestCloseWaits(t *testing.T) {
	t.Parallel()
	server := listen(t, Address{Addr: "127.0.0.1:0"})
	began := make(chan struct{})
	ctx, cut := context.WithCancel(t.Context())
	defer cut()
	server.Serve(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
		_, _ = io.WriteString(w, "ended")
	}))
	text := make(chan string)
	go func() {
		defer close(text)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+server.Addr, nil)
		if err != nil {
			t.Error(err)
			return
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Error(err)
			return
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		text <- string(body)
	}()
	<-began
	closed := make(chan struct{})
	go func() {
		server.Close()
		close(closed)
	}()
	cut()
	if got := <-text; got != "ended" {
		t.Errorf("%q", got)
	}
	<-closed
}
