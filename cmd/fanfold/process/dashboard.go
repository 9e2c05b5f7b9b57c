package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/fanfold/fanfold/dashboard"
)

// dashboard serves the dashboard on HTTP, if that is an address, until close is called.
func (p *Process) dashboard(ctx context.Context, log *slog.Logger) (end func(), err error) {
	if p.HTTP == "" {
		return func() {}, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.HTTP)
	if err != nil {
		return nil, ErrConfig.of(fmt.Errorf("--http: cannot listen on %s: %w", p.HTTP, err))
	}
	if !loopback(listener.Addr()) {
		return nil, errors.Join(ErrConfig.of(fmt.Errorf("--http: %s can be reached from other machines, and the dashboard has no login: listen on 127.0.0.1, and come through a tunnel such as ssh -L", p.HTTP)), listener.Close())
	}
	d := dashboard.New(dashboard.Options{
		Inspect: p.Inspect, Reports: p.Config.Reports, Ready: p.ready, Version: p.Version, Log: log,
		Processes: func(ctx context.Context) (int, error) {
			all, err := p.Partitions.Home().Definitions.Processes(ctx)
			return len(all), err
		},
	})
	streams, cut := context.WithCancel(context.WithoutCancel(ctx)) // of server-sent events, which end with the server
	server := &http.Server{
		Handler:           d,
		BaseContext:       func(net.Listener) context.Context { return streams },
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 20 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	done := make(chan struct{}, 2)
	go func() {
		d.Run(streams)
		done <- struct{}{}
	}()
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("dashboard", "err", err)
		}
		done <- struct{}{}
	}()
	log.Info("dashboard", "url", "http://"+listener.Addr().String()+"/")
	return func() {
		cut()
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		if server.Shutdown(limited) != nil {
			_ = server.Close()
		}
		<-done
		<-done
	}, nil
}
