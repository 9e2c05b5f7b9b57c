package process

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/dashboard"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/redisdb"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/listeners/worker"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/web"
	"github.com/fanfold/fanfold/web/login"
)

// siteShutdown bounds the wait for changes that still run when the process ends.
const siteShutdown = 5 * time.Second

// site is the address of the dashboard, the API and the pages behind links.
type site struct {
	*Process
	log *slog.Logger
}

// serve serves the address HTTP, if there is one, until end is called.
func (p site) serve(ctx context.Context) (end func(), err error) {
	if p.HTTP == "" {
		return func() {}, nil
	}
	server, err := web.Listen(ctx, web.Address{
		Name: "--http", Addr: p.HTTP, Site: p.Config.HTTP, Grace: siteShutdown,
		Remedy: "add http.users_file to the configuration, " +
			"or listen on 127.0.0.1 and connect through a tunnel such as ssh -L",
	}, p.log)
	if err != nil {
		return nil, fault.Config.Of(err)
	}
	defer func() {
		if err != nil {
			server.Close()
		}
	}()
	door := server.Access
	door.Audit, door.Sessions = p.Operate.Audit.Note, p.Partitions.First().Sessions
	in, err := p.inspector()
	if err != nil {
		return nil, err
	}
	o := dashboard.Options{
		Inspect: in, Operate: p.Operate, Listeners: p.Config.ListenerNames(),
		Ready: health{p.Process}.ready, Sink: health{p.Process}.sink, Find: p.Object,
		Processes: p.Partitions.First().Definitions.Processes, Bounds: p.Config.Bounds(),
		Version: p.Version, Path: door.Path(), Log: p.log,
	}
	if p.Config.Spool.URL != "" {
		o.Spool = health{p.Process}.spool
	}
	d := dashboard.New(o)
	service := api.New(api.Options{
		Inspect: in, Operate: p.Operate, Find: p.Object, Size: p.Size, Page: p.links(), OrderURL: p.orderLinks(),
		Prefix: door.Path(), Log: p.log,
	})
	workers, err := p.workers(ctx, door.Path()+api.Root)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	for _, folder := range []string{"/r", "/o", api.Root, "/assets"} {
		mux.Handle(folder, http.NotFoundHandler()) // a redirect would lack the path of http.url
	}
	if door.Public() && !door.HasLogin() {
		p.log.Warn("serving pages behind links only: other machines can reach http.url, " +
			"and without http.users_file or http.trusted_header everyone could make changes")
	} else {
		mux.Handle("/", door.Login(audit.Dashboard, d))
		mux.Handle(api.Root+"/", door.Login(audit.API, service))
	}
	if form := door.Form(); form != nil {
		login.Pages{Form: form, Language: p.Config.HTTP.Language, Log: p.log}.Add(mux)
	}
	if workers != nil {
		mux.Handle(api.Root+"/tasks/", http.StripPrefix(api.Root, workers)) // a token is its own permission
	}
	if err := p.pages(ctx, in, door, mux); err != nil {
		return nil, err
	}
	streams, cut := context.WithCancel(context.WithoutCancel(ctx)) // for server-sent events, which end with the server
	var running sync.WaitGroup
	running.Go(func() { d.Run(streams) })
	server.Serve(streams, door.Guard(door.Below(mux)))
	p.log.Info("serving HTTP", "url", cmp.Or(p.Config.HTTP.URL, "http://"+server.Addr)+"/", "listens", server.Addr)
	if !server.Local {
		p.log.Info("pages and passwords are not encrypted on this address: put a TLS proxy in front of it")
	}
	return func() {
		cut()
		server.Close()
		running.Wait()
	}, nil
}

// workers makes the handler for workers of external listeners; nil: no listener has a token. It shares the Runners
// of the role listeners, or has some that do not run.
func (p site) workers(ctx context.Context, root string) (http.Handler, error) {
	tokens := listeners.Tokens(p.Config.Reports)
	if len(tokens) == 0 {
		return nil, nil
	}
	if p.listeners == nil {
		if _, err := p.Role(ctx, "listeners", ConsumerName(), p.log); err != nil {
			return nil, err
		}
	}
	return worker.New(worker.Options{
		Desk: listeners.NewDesk(p.listeners), Tokens: tokens, Root: root, Log: p.log,
	}), nil
}

// readers is the number of connections to the records that all browsers and clients share.
const readers = 6

// inspector makes an Inspector with its own connections to the records and for blocking reads, so that
// browsers and workers do not wait for each other.
func (p site) inspector() (*inspect.Inspector, error) {
	o := p.handles()
	rows, err := p.kinds.Records.Open(p.Config.Databases[p.Config.Records.Database],
		record.Options{MaxConnections: readers, Patience: statementTimeout, Zone: p.zone})
	if err != nil {
		return nil, fault.Config.New("databases.%s: %w", p.Config.Records.Database, err)
	}
	p.closers.add(rows)
	if o.Records, err = record.New(rows, p.Config.Records); err != nil {
		return nil, fmt.Errorf("records: %w", err)
	}
	following, err := redisdb.Connect(p.Config.Redis, api.MaxStreams, redisdb.BlockingTimeout)
	if err != nil {
		return nil, err
	}
	p.closers.add(following)
	p.seen.On(following)
	o.Scripts = newPartitions(p.Config, p.Redis, following)
	return inspect.New(o), nil
}
