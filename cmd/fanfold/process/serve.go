package process

import (
	"context"
	"errors"
	"log/slog"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/quiet"
	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Restrict limits the listeners that run here to those that match a pattern. Every pattern must match
// at least one.
func (p *Process) Restrict(patterns, roles []string) error {
	if len(patterns) == 0 {
		return nil
	}
	if !slices.Contains(roles, "listeners") {
		return fault.Config.New("--listeners requires the role listeners")
	}
	matches := func(pattern, name string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	}
	for _, pattern := range patterns {
		if !slices.ContainsFunc(p.Config.ListenerNames(), func(name string) bool { return matches(pattern, name) }) {
			return fault.Config.New("--listeners: no listener matches %q: the listeners are %s", pattern, strings.Join(p.Config.ListenerNames(), ", "))
		}
	}
	p.patterns = patterns
	p.only = func(listener string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, listener) })
	}
	return nil
}

// Serve runs roles until ctx ends or one of them fails.
func (p *Process) Serve(ctx context.Context, roles []string, log *slog.Logger) error {
	if err := p.ping(ctx, true); err != nil {
		return err
	}
	if err := p.checkRights(ctx, log); err != nil {
		return err
	}
	p.warnEviction(ctx, log)
	if err := p.noteVersions(ctx, log); err != nil {
		return err
	}
	if err := p.claim(ctx, log); err != nil {
		return err
	}
	if err := p.notePartitions(ctx); err != nil {
		return err
	}
	handler := quiet.New(log.Handler(), time.Minute)
	defer handler.Close()
	log = slog.New(handler)
	p.seen.SetLog(log)
	for i, s := range p.Partitions {
		err := s.Load(ctx)
		if _, refused := errors.AsType[redis.Error](err); refused {
			return fault.Unreachable.New("redis: %w; Fanfold needs Redis 7, and a user that may run SCRIPT LOAD and EVALSHA", err)
		} else if err != nil {
			log.Warn("the server of a partition does not answer: its jobs wait", "partition", i, "err", err)
		}
	}
	defer p.seen.SetLog(nil)
	engine.SetPace()
	consumer := ConsumerName()
	end, err := p.announceProcess(ctx, log, report.Process(consumer, p.Version))
	if err != nil {
		return err
	}
	defer end()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx) // its context ends when the process begins to stop, for any reason
	a, err := p.admin(ctx, log)
	if err != nil {
		return err
	}
	defer a.close()
	flush, err := p.Traces(ctx, consumer, log)
	if err != nil {
		return err
	}
	defer flush()
	var runners together
	for _, role := range roles {
		r, err := p.Role(ctx, role, consumer, log.With("role", role))
		if err != nil && ctx.Err() != nil {
			return nil // stopped during the start
		}
		if err != nil {
			return err
		}
		runners = append(runners, r)
	}
	leave, err := p.site(ctx, log)
	if err != nil {
		return err
	}
	defer leave()
	for _, r := range runners {
		group.Go(func() error {
			defer a.setRunning(false)
			return r.Run(ctx)
		})
	}
	defer context.AfterFunc(ctx, func() {
		log.Info("stopping: running work may finish; a second signal ends the process at once", "within", p.Config.Limits.Stop)
	})()
	if slices.Contains(roles, "listeners") || slices.Contains(roles, "engine") {
		group.Go(func() error { return p.announce(ctx, log) })
	}
	if slices.Contains(roles, "listeners") {
		group.Go(func() error { return p.probe(ctx, log) })
	}
	group.Go(func() error { return p.watchVersions(ctx, log) })
	a.setRunning(true)
	about := []any{"roles", strings.Join(roles, ","), "reports", len(p.Config.Reports), "consumer", consumer}
	if len(p.patterns) > 0 {
		about = append(about, "listeners", strings.Join(p.patterns, ","))
	}
	log.Info("serving", about...)
	err = group.Wait()
	log.Info("stopped", "consumer", consumer)
	return err
}

// probe connects once to every source of the listeners that run here, and logs failures. The process
// runs nevertheless, because a source may be unreachable only for a while.
func (p *Process) probe(ctx context.Context, log *slog.Logger) error {
	sources := map[string]bool{}
	for _, r := range p.Config.Reports {
		for _, l := range r.Listeners() {
			if p.only == nil || p.only(l.Name) {
				sources[l.Source] = true
			}
		}
	}
	var group errgroup.Group
	for name := range sources {
		group.Go(func() error {
			switch err := p.Inspect.Reach(ctx, name); {
			case err == nil || ctx.Err() != nil:
			case errors.Is(err, fault.Login):
				log.Warn("a database refuses the login: its listeners will fail", "database", name, "hint", "correct the DSN of database "+name, "err", err)
			default:
				log.Warn("a source does not answer: its listeners wait for it", "source", name, "err", err)
			}
			return nil
		})
	}
	return group.Wait()
}

// announce tells the other processes, until ctx ends, which definitions this process has.
func (p *Process) announce(ctx context.Context, log *slog.Logger) error {
	var ours []string
	for _, r := range p.Config.Reports {
		ours = append(ours, scripts.DefinitionMember(r.Name, r.Hash()))
	}
	return step.Every(ctx, log, scripts.AnnounceEvery, "announce definitions", func(ctx context.Context) error {
		return p.Partitions.Home().Definitions.Announce(ctx, ours)
	})
}

// announceProcess announces, until end is called, that this process runs. It still does so while the
// process stops, because fanfold repartition waits until all work has ended.
func (p *Process) announceProcess(ctx context.Context, log *slog.Logger, process string) (end func(), err error) {
	definitions := p.Partitions.Home().Definitions
	err = definitions.AnnounceProcess(ctx, process)
	if _, refused := errors.AsType[redis.Error](err); refused {
		return nil, fault.Unreachable.Of(err)
	} else if err != nil {
		log.Warn("cannot announce this process yet: retrying", "err", err)
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
		_ = definitions.EndProcess(limited, process) // if this fails, the announcement expires soon
	}, nil
}
