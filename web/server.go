package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/report"
)

// Address is where a Server listens, and for whom.
type Address struct {
	Name string // in texts, such as admin
	Addr string // host:port
	Site report.Site
	// Remedy says what to do if other machines can reach the address and no login is required.
	Remedy string
	// Public is whether the address may be like that nevertheless.
	Public bool
	// Grace is how long Close waits for running requests.
	Grace time.Duration
}

// Server serves HTTP at one address. Every request has limits of time and memory.
type Server struct {
	// HTTP may be changed before Serve.
	HTTP *http.Server
	// Access decides who may do what at the address.
	Access *access.Site
	// Addr is the address, with a port if Address has none. Local is whether only this machine can reach it.
	Addr  string
	Local bool

	of       Address
	log      *slog.Logger
	listener net.Listener
	served   sync.WaitGroup
}

// Listen makes a Server and binds its address. Serve or Close must follow. An error names what to correct in the
// configuration.
func Listen(ctx context.Context, of Address, log *slog.Logger) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", of.Addr)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot listen on %s: %w", of.Name, of.Addr, err)
	}
	s := &Server{HTTP: newHTTP(log), Addr: listener.Addr().String(), of: of, log: log, listener: listener}
	s.Local = access.Loopback(s.Addr)
	if s.Access, err = access.New(of.Site, log); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	if !s.Local && !s.Access.HasLogin() && !of.Public {
		err := fmt.Errorf("%s: %s can be reached from other machines, and the server has no login: %s",
			of.Name, of.Addr, of.Remedy)
		return nil, errors.Join(err, listener.Close())
	}
	return s, nil
}

// newHTTP bounds the time and memory of a request.
func newHTTP(log *slog.Logger) *http.Server {
	return &http.Server{
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      20 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// Serve starts to serve requests, whose contexts end with ctx, until Close.
func (s *Server) Serve(ctx context.Context, handler http.Handler) {
	s.HTTP.Handler = handler
	s.HTTP.BaseContext = func(net.Listener) context.Context { return ctx }
	s.served.Go(func() {
		if err := s.HTTP.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("a server failed", "server", s.of.Name, "err", err)
		}
	})
}

// Close stops the server. Running requests may end within the grace period. A nil Server does nothing.
func (s *Server) Close() {
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.of.Grace)
	defer cancel()
	if s.HTTP.Shutdown(ctx) != nil {
		_ = s.HTTP.Close()
	}
	_ = s.listener.Close() // if Serve was not called
	s.served.Wait()
}
