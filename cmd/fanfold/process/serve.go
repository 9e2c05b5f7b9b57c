package process

import (
	"context"
	"errors"
	"log/slog"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/quiet"
	"github.com/fanfold/fanfold/report"
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
			return fault.Config.New("--listeners: no listener matches %q: the listeners are %s",
				pattern, strings.Join(p.Config.ListenerNames(), ", "))
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
	if err := (checks{p, log}).all(ctx); err != nil {
		return err
	}
	handler := quiet.New(log.Handler(), time.Minute)
	defer handler.Close()
	log = slog.New(handler)
	p.seen.SetLog(log)
	for i, s := range p.Partitions {
		err := s.Load(ctx)
		if _, refused := errors.AsType[redis.Error](err); refused {
			return fault.Unreachable.New("redis: %w; "+
				"Fanfold needs Redis 7, and a user that may run SCRIPT LOAD and EVALSHA", err)
		} else if err != nil {
			log.Warn("the server of a partition does not answer: its jobs wait", "partition",
				strconv.Itoa(i), "err", err)
		}
	}
	defer p.seen.SetLog(nil)
	engine.SetPace()
	consumer := ConsumerName()
	end, err := announceProcess(ctx, p.Partitions.First().Definitions, log, report.Process(consumer, p.Version))
	if err != nil {
		return err
	}
	defer end()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx) // its context ends when the process begins to stop, for any reason
	a, err := startAdmin(ctx, p, log)
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
		r, err := p.Role(ctx, role, consumer, log.With("role", quiet.Varies(role)))
		if err != nil && ctx.Err() != nil {
			return nil // stopped during the start
		}
		if err != nil {
			return err
		}
		runners = append(runners, r)
	}
	leave, err := site{p, log}.serve(ctx)
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
		log.Info("stopping: running work may finish; a second signal ends the process at once",
			"within", p.Config.Limits.ShutdownTimeout)
	})()
	if slices.Contains(roles, "listeners") || slices.Contains(roles, "engine") {
		group.Go(func() error { return announce(ctx, p, log) })
	}
	if slices.Contains(roles, "listeners") {
		group.Go(func() error { return probe(ctx, p, log) })
	}
	group.Go(func() error { return checks{p, log}.watchVersions(ctx) })
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

// checks looks at the servers before the roles run.
type checks struct {
	*Process
	log *slog.Logger
}

// all makes all checks. It notes what the processes of an installation have in common.
func (p checks) all(ctx context.Context) error {
	if err := (health{p.Process}).ping(ctx, true); err != nil {
		return err
	}
	if err := p.rights(ctx); err != nil {
		return err
	}
	p.eviction(ctx)
	for _, check := range []func(context.Context) error{p.versions, p.owner, p.partitions} {
		if err := check(ctx); err != nil {
			return err
		}
	}
	return nil
}
