package process

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/step"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

// probe connects once to every source of the listeners that run here, and logs failures. The process
// runs nevertheless, because a source may be unreachable only for a while.
func probe(ctx context.Context, p *Process, log *slog.Logger) error {
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
			switch err := p.Inspect.Sources.Reach(ctx, name); {
			case err == nil || ctx.Err() != nil:
			case errors.Is(err, fault.Login):
				log.Warn("a database refuses the login: its listeners will fail",
					"database", name, "hint", "correct the DSN of database "+name, "err", err)
			default:
				log.Warn("a source does not answer: its listeners wait for it", "source", name, "err", err)
			}
			return nil
		})
	}
	return group.Wait()
}

// announce tells the other processes, until ctx ends, which definitions this process has.
func announce(ctx context.Context, p *Process, log *slog.Logger) error {
	var ours []string
	for _, r := range p.Config.Reports {
		ours = append(ours, scripts.DefinitionMember(r.Name, r.Hash()))
	}
	return step.Every(ctx, log, scripts.AnnounceEvery, "announce definitions", func(ctx context.Context) error {
		return p.Partitions.First().Definitions.Announce(ctx, ours)
	})
}

// announceProcess announces, until end is called, that this process runs. It still does so while the
// process stops, because fanfold repartition waits until all work has ended.
func announceProcess(
	ctx context.Context, definitions scripts.Definitions, log *slog.Logger, process string,
) (end func(), err error) {
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
