package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold/inspect/gauges"
	"github.com/fanfold/fanfold/internal/access"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	// readyTime bounds one check of Redis and the records' database.
	readyTime = 2 * time.Second
	// farewell is how long answers under way may take when the process ends.
	farewell = time.Second
)

// admin tells by HTTP how a process is. A nil one does nothing.
type admin struct {
	ctx     context.Context // ends as soon as the process is told to stop
	ready   func(ctx context.Context) error
	running atomic.Bool
	server  *http.Server
	served  sync.WaitGroup
}

// admin starts the admin server of the configuration, if it names one, and makes
// the registry of the metrics. The server answers until close.
func (p *Process) admin(ctx context.Context, log *slog.Logger) (*admin, error) {
	if p.Config.Admin == "" {
		return nil, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.Config.Admin)
	if err != nil {
		return nil, ErrConfig.of(fmt.Errorf("admin: cannot listen on %s: %w", p.Config.Admin, err))
	}
	local, settings := access.Loopback(listener.Addr().String()), p.Config.HTTP
	settings.URL = "" // that of another server
	site, err := access.New(settings, log)
	if err != nil {
		return nil, errors.Join(ErrConfig.of(err), listener.Close())
	}
	if !local && !site.HasLogin() && !p.Config.AdminPublic {
		return nil, errors.Join(ErrConfig.of(fmt.Errorf("admin: %s can be reached from other machines, and the server has no login: listen on 127.0.0.1, add http.users_file to the configuration, or set admin_public: true there if a firewall protects it", p.Config.Admin)), listener.Close())
	}
	registry, err := p.NewRegistry()
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	p.Metrics = registry
	a := &admin{ctx: ctx, ready: p.ready}
	a.server = newServer(a.routes(registry, site, local, p.Config.AdminPublic), log)
	log.Info("admin server", "addr", listener.Addr().String())
	a.served.Go(func() {
		if err := a.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("admin server", "err", err)
		}
	})
	return a, nil
}

// routes are what the server answers. Metrics need a login where other machines reach the server, if
// there is one and the server is not public; probes need none. Profiles cost processor time and show what the process does, so they
// exist only on a local server: use an SSH tunnel or kubectl port-forward to one on 127.0.0.1.
func (a *admin) routes(registry *prometheus.Registry, site *access.Site, local, public bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", a.livez)
	mux.HandleFunc("GET /readyz", a.readyz)
	var metrics http.Handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4, Timeout: 10 * time.Second,
	})
	if !local && site.HasLogin() && !public {
		metrics = site.Login(metrics)
	}
	mux.Handle("GET /metrics", metrics)
	if !local {
		return mux // its names are those of the network
	}
	profiles(mux)
	return site.Guard(mux)
}

// newServer limits what a slow or large request can hold.
func newServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 20 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// NewRegistry has what the process and Redis tell; the roles add theirs.
func (p *Process) NewRegistry() (*prometheus.Registry, error) {
	registry := prometheus.NewRegistry()
	for _, c := range []prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), gauges.New(p.Inspect),
	} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("metrics: %w", err)
		}
	}
	return registry, nil
}

// setRunning says whether the roles run: they do no longer once one has come to its end.
func (a *admin) setRunning(running bool) {
	if a != nil {
		a.running.Store(running)
	}
}

// close ends the server.
func (a *admin) close() {
	if a == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	if a.server.Shutdown(ctx) != nil {
		_ = a.server.Close()
	}
	a.served.Wait()
}

// livez answers 200 while the roles run, or end their work after a signal.
func (a *admin) livez(w http.ResponseWriter, _ *http.Request) {
	if !a.running.Load() && a.ctx.Err() == nil {
		answer(w, errNotRunning)
		return
	}
	answer(w, nil)
}

var errNotRunning = errors.New("no role runs")

// readyz answers 200 where the roles run, nobody has told them to stop, and what they
// need answers.
func (a *admin) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTime)
	defer cancel()
	switch {
	case a.ctx.Err() != nil:
		answer(w, errors.New("stopping"))
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
