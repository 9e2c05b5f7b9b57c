package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/internal/quiet"
	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/scripts"
)

func newServe(f *flags) *cobra.Command {
	var chosen, only []string
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

With --listeners a process runs the queries of some listeners only, such as those
whose database it can reach: --roles listeners --listeners 'plt_fund.*'. Every
listener needs a process that runs it.

At the first signal no more is begun, and what is under way may end for
limits.stop; what is not done then is handed back. A second signal ends the
process at once, as if it was killed: others take its work over after the lease.

With --admin it tells by HTTP how it is: /livez, /readyz, which answers 503 from
the first signal on, and /metrics.`,
		RunE: f.opened(func(c *cobra.Command, b *backend, _ []string) error {
			if len(chosen) == 0 {
				return usage(fmt.Errorf("--roles: none given: name some of %s", strings.Join(roles, ", ")))
			}
			for _, r := range chosen {
				if !slices.Contains(roles, r) {
					return usage(fmt.Errorf("--roles: %q is none of %s", r, strings.Join(roles, ", ")))
				}
			}
			if err := b.checkOnly(only, chosen); err != nil {
				return err
			}
			if c.Flags().Changed("admin") {
				b.config.Admin = admin
			}
			return serve(c.Context(), b, chosen, f.logger(c.ErrOrStderr()))
		}),
	}
	c.Flags().StringSliceVar(&chosen, "roles", roles, "what this process does")
	offer(c, "roles", roles...)
	c.Flags().StringSliceVar(&only, "listeners", nil, "names or globs of the listeners whose queries it runs; default: all")
	c.Flags().StringVar(&admin, "admin", "", "host:port for /livez, /readyz and /metrics; default: admin in the configuration, or none")
	return c
}

// checkOnly notes which listeners run here: each pattern must match one.
func (b *backend) checkOnly(patterns, roles []string) error {
	if len(patterns) == 0 {
		return nil
	}
	if !slices.Contains(roles, "listeners") {
		return usage(errors.New("--listeners: --roles has no listeners"))
	}
	matches := func(pattern, name string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	}
	for _, pattern := range patterns {
		if !slices.ContainsFunc(b.listenerNames(), func(name string) bool { return matches(pattern, name) }) {
			return usage(fmt.Errorf("--listeners: no listener matches %q: the listeners are %s", pattern, strings.Join(b.listenerNames(), ", ")))
		}
	}
	b.only = func(listener string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, listener) })
	}
	return nil
}

// serve runs roles until ctx ends or one of them fails.
func serve(ctx context.Context, b *backend, roles []string, log *slog.Logger) error {
	if err := b.ping(ctx, true); err != nil {
		return err
	}
	if err := b.claim(ctx, log); err != nil {
		return err
	}
	if err := b.notePartitions(ctx); err != nil {
		return err
	}
	handler := quiet.New(log.Handler(), time.Minute)
	defer handler.Close()
	log = slog.New(handler)
	b.seen.Tell(log)
	for i, p := range b.partitions {
		err := p.Load(ctx)
		if _, refused := errors.AsType[redis.Error](err); refused {
			return unreachable(fmt.Errorf("redis: %w; Fanfold needs Redis 7, and a user that may run SCRIPT LOAD and EVALSHA", err))
		} else if err != nil {
			log.Warn("the server of a partition is away: its jobs wait", "partition", i, "err", err)
		}
	}
	defer b.seen.Tell(nil)
	engine.SetPace()
	consumer := consumerName()
	end, err := b.announceProcess(ctx, log, consumer)
	if err != nil {
		return err
	}
	defer end()
	a, err := b.admin(ctx, log)
	if err != nil {
		return err
	}
	defer a.close()
	var runners together
	for _, role := range roles {
		r, err := b.role(ctx, role, consumer, log.With("role", role))
		if err != nil && ctx.Err() != nil {
			return nil // told to stop while it starts
		}
		if err != nil {
			return err
		}
		runners = append(runners, r)
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, r := range runners {
		group.Go(func() error {
			defer a.setRunning(false)
			return r.Run(ctx)
		})
	}
	defer context.AfterFunc(ctx, func() {
		log.Info("stopping: what is under way may end; a second signal ends it at once", "within", b.config.Limits.Stop)
	})()
	if slices.Contains(roles, "listeners") || slices.Contains(roles, "engine") {
		group.Go(func() error { return b.announce(ctx, log) })
	}
	if slices.Contains(roles, "listeners") {
		group.Go(func() error { return b.probe(ctx, log) })
	}
	a.setRunning(true)
	log.Info("serving", "roles", strings.Join(roles, ","), "reports", len(b.config.Reports), "consumer", consumer)
	err = group.Wait()
	log.Info("stopped", "consumer", consumer)
	return err
}

// probe connects once to each source of the listeners that run here, and logs what does not let it. A process starts
// without: a source may be away for a while.
func (b *backend) probe(ctx context.Context, log *slog.Logger) error {
	sources := map[string]bool{}
	for _, r := range b.config.Reports {
		for _, l := range r.Listeners() {
			if b.only == nil || b.only(l.Name) {
				sources[l.Source] = true
			}
		}
	}
	var group errgroup.Group
	for name := range sources {
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
	return group.Wait()
}

// announce tells the other processes, until ctx ends, which definitions this one has.
func (b *backend) announce(ctx context.Context, log *slog.Logger) error {
	var ours []string
	for _, r := range b.config.Reports {
		ours = append(ours, scripts.DefinitionMember(r.Name, r.Hash()))
	}
	return step.Every(ctx, log, scripts.AnnounceEvery, "announce definitions", func(ctx context.Context) error {
		return b.partitions.Home().Definitions.Announce(ctx, ours)
	})
}

// announceProcess tells until end is called that a process runs, also while it stops and its work
// ends: fanfold repartition waits for that.
func (b *backend) announceProcess(ctx context.Context, log *slog.Logger, process string) (end func(), err error) {
	definitions := b.partitions.Home().Definitions
	err = definitions.AnnounceProcess(ctx, process)
	if _, refused := errors.AsType[redis.Error](err); refused {
		return nil, unreachable(err)
	} else if err != nil {
		log.Warn("this process is not announced yet: it tries again", "err", err)
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = step.Every(running, log, scripts.AnnounceEvery, "announce this process", func(ctx context.Context) error {
			return definitions.AnnounceProcess(ctx, process)
		})
	}()
	return func() {
		cancel()
		<-done
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = definitions.EndProcess(limited, process) // or it is silent, and counts as ended a little later
	}, nil
}
