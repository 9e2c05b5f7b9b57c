package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/web"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	// readyTime bounds one check of Redis and the records' database.
	readyTime = 2 * time.Second
	// adminShutdown bounds the wait for running requests when the process ends.
	adminShutdown = time.Second
)

// admin serves metrics, probes and profiles over HTTP. A nil *admin does nothing.
type admin struct {
	ctx     context.Context // ends when the process begins to stop
	ready   func(ctx context.Context) error
	running atomic.Bool
	server  *web.Server
}

// startAdmin starts the admin server, if the configuration names one, and makes the registry of the
// metrics. The server runs until close.
func startAdmin(ctx context.Context, p *Process, log *slog.Logger) (*admin, error) {
	if p.Config.Admin.Listen == "" {
		return nil, nil
	}
	of := web.Address{
		Name: "admin", Addr: p.Config.Admin.Listen, Site: p.Config.HTTP, Public: p.Config.Admin.Public,
		Grace: adminShutdown,
		Remedy: "listen on 127.0.0.1, add http.users_file to the configuration, " +
			"or set admin: {public: true} there if a firewall protects it",
	}
	of.Site.URL = "" // the address of the dashboard server
	server, err := web.Listen(ctx, of, log)
	if err != nil {
		return nil, fault.Config.Of(err)
	}
	registry := prometheus.NewRegistry()
	if err := p.RegisterMetrics(registry); err != nil {
		server.Close()
		return nil, err
	}
	p.Metrics = registry
	a := &admin{ctx: ctx, ready: health{p}.ready, server: server}
	server.Serve(context.WithoutCancel(ctx), a.routes(registry, server.Access, server.Local, p.Config.Admin.Public))
	log.Info("serving metrics and probes", "addr", server.Addr)
	return a, nil
}

// routes returns the handler of the server. Metrics require a login if one is configured, other
// machines can reach the server, and it is not public; probes require none. Profiles cost CPU time and
// show what the process does, so only a server on loopback has them: reach it through an SSH tunnel
// or kubectl port-forward.
func (a *admin) routes(registry *prometheus.Registry, site *access.Site, local, public bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", a.livez)
	mux.HandleFunc("GET /readyz", a.readyz)
	var metrics http.Handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4, Timeout: 10 * time.Second,
	})
	if !local && site.HasLogin() && !public {
		metrics = site.Login("metrics", metrics)
	}
	mux.Handle("GET /metrics", metrics)
	if !local {
		return mux // other machines may know it by any name
	}
	profiles(mux)
	return site.Guard(mux)
}

// setRunning notes whether all roles run.
func (a *admin) setRunning(running bool) {
	if a != nil {
		a.running.Store(running)
	}
}

// close stops the server.
func (a *admin) close() {
	if a != nil {
		a.server.Close()
	}
}

// livez answers 200 while the roles run, or finish their work because the process stops.
func (a *admin) livez(w http.ResponseWriter, _ *http.Request) {
	if !a.running.Load() && a.ctx.Err() == nil {
		answer(w, errNotRunning)
		return
	}
	answer(w, nil)
}

var errNotRunning = errors.New("the roles do not run yet, or one has ended")

// readyz answers 200 if the roles run, the process is not stopping, and its servers answer. Otherwise its
// text says why: a process also stops when one of its roles fails, or when a newer release has stored
// a version that it does not know.
func (a *admin) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTime)
	defer cancel()
	switch {
	case a.ctx.Err() != nil:
		why := context.Cause(a.ctx)
		if errors.Is(why, context.Canceled) { // by a signal
			answer(w, errors.New("stopping"))
			return
		}
		answer(w, fmt.Errorf("stopping: %w", why))
	case !a.running.Load():
		answer(w, errNotRunning)
	default:
		answer(w, a.ready(ctx))
	}
}

func answer(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintln(w, err)
		return
	}
	_, _ = fmt.Fprintln(w, "ok")
}
