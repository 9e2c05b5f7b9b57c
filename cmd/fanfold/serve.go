package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/internal/quiet"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/scheduler"
)

// roles are what a process can do; any number of processes can do each.
var roles = []string{"engine", "listeners", "scheduler"}

func newServe(f *flags) *cobra.Command {
	var chosen []string
	var admin string
	c := &cobra.Command{
		Use:   "serve",
		Short: "Do the work: trigger jobs, run queries, make files, keep time",
		Long: `Serve runs until it gets SIGINT or SIGTERM. Run as many processes as you like, on
as many machines; with --roles a process does a part of the work only:
  engine     reads pushed ids, starts jobs, makes the files, updates the records;
             starts what the records know and Redis has lost
  listeners  runs the queries
  scheduler  moves delayed ids, fails what is over its deadline, fires timers

At the first signal no more is begun, and what is under way may end for
limits.stop; what is not done then is handed back. A second signal ends the
process at once, as if it was killed: others take its work over after the lease.

With --admin it tells by HTTP how it is: /livez, /readyz, which answers 503 from
the first signal on, and /metrics.`,
		RunE: f.connected(func(c *cobra.Command, b *backend, _ []string) error {
			if len(chosen) == 0 {
				return usage(fmt.Errorf("--roles: none given: name some of %s", strings.Join(roles, ", ")))
			}
			for _, r := range chosen {
				if !slices.Contains(roles, r) {
					return usage(fmt.Errorf("--roles: %q is none of %s", r, strings.Join(roles, ", ")))
				}
			}
			if c.Flags().Changed("admin") {
				b.config.Admin = admin
			}
			return serve(c.Context(), b, chosen, f.logger(c.ErrOrStderr()))
		}),
	}
	c.Flags().StringSliceVar(&chosen, "roles", roles, "what this process does")
	offer(c, "roles", roles...)
	c.Flags().StringVar(&admin, "admin", "", "host:port for /livez, /readyz and /metrics; default: admin in the configuration, or none")
	return c
}

// runner is a role at work.
type runner interface {
	Run(ctx context.Context) error
}

// serve runs roles until ctx ends or one of them fails.
func serve(ctx context.Context, b *backend, roles []string, log *slog.Logger) error {
	if err := b.ping(ctx); err != nil {
		return err
	}
	if err := b.scripts.Load(ctx); err != nil {
		return unreachable(fmt.Errorf("redis: %w; Fanfold needs Redis 7, and a user that may run SCRIPT LOAD and EVALSHA", err))
	}
	handler := quiet.New(log.Handler(), time.Minute)
	defer handler.Close()
	log = slog.New(handler)
	b.seen.Tell(log)
	defer b.seen.Tell(nil)
	engine.SetPace()
	consumer := consumerName()
	a, err := b.admin(ctx, log)
	if err != nil {
		return err
	}
	defer a.close()
	var runners []runner
	for _, role := range roles {
		r, err := b.role(ctx, role, consumer, log.With("role", role))
		if err != nil {
			return err
		}
		runners = append(runners, r)
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, r := range runners {
		group.Go(func() error {
			defer a.ended()
			return r.Run(ctx)
		})
	}
	defer context.AfterFunc(ctx, func() {
		log.Info("stopping: what is under way may end; a second signal ends it at once", "within", b.config.Limits.Stop)
	})()
	if slices.Contains(roles, "listeners") || slices.Contains(roles, "engine") {
		group.Go(func() error {
			b.announce(ctx, log)
			return nil
		})
	}
	if slices.Contains(roles, "listeners") {
		group.Go(func() error {
			b.probe(ctx, log)
			return nil
		})
	}
	a.begin()
	log.Info("serving", "roles", strings.Join(roles, ","), "reports", len(b.config.Reports), "consumer", consumer)
	err = group.Wait()
	log.Info("stopped", "consumer", consumer)
	return err
}

func (b *backend) role(ctx context.Context, role, consumer string, log *slog.Logger) (runner, error) {
	switch role {
	case "engine":
		return b.engine(ctx, consumer, log)
	case "listeners":
		sources := map[string]listeners.Source{}
		for name := range b.databases {
			source, err := b.source(name)
			if err != nil {
				return nil, err
			}
			sources[name] = source
		}
		for name, api := range b.apis {
			sources[name] = api
		}
		return listeners.New(listeners.Options{
			Redis: b.blocking, Scripts: b.scripts, Reports: b.config.Reports, Sources: sources,
			Bounds: bounds(b.config),
			Limits: b.config.Limits, Consumer: consumer, Log: log, Metrics: b.metrics,
		})
	default:
		if err := b.checkSubmits(ctx); err != nil {
			return nil, fmt.Errorf("a timer submits a report: %w; fanfold migrate makes what it needs, fanfold doctor says more", err)
		}
		timers, err := b.timersOf(consumer, log)
		if err != nil {
			return nil, err
		}
		s, err := scheduler.New(scheduler.Options{
			Redis: b.redis, Scripts: b.scripts, Consumer: consumer, Timers: timers, Metrics: b.metrics, Log: log,
		})
		if err != nil {
			return nil, err
		}
		return together{s, timers}, nil
	}
}

// bounds are those of all sources.
func bounds(c *config.Config) map[string]config.Bound {
	all := map[string]config.Bound{}
	for name, d := range c.Databases {
		all[name] = d.Bound
	}
	for name, a := range c.APIs {
		all[name] = a.Bound
	}
	return all
}

// probe connects to each source once and logs what does not let it. A process starts
// without: a source may be away for a while.
func (b *backend) probe(ctx context.Context, log *slog.Logger) {
	var group errgroup.Group
	for _, name := range append(slices.Sorted(maps.Keys(b.databases)), slices.Sorted(maps.Keys(b.apis))...) {
		group.Go(func() error {
			switch err := b.inspect.Reach(ctx, name); {
			case err == nil || ctx.Err() != nil:
			case mysqldb.Refused(err):
				log.Warn("a database refuses the login: its listeners will fail", "database", name, "hint", "correct the DSN of database "+name, "err", err)
			default:
				log.Warn("a source does not answer: its listeners wait for it", "source", name, "err", err)
			}
			return nil
		})
	}
	_ = group.Wait()
}
