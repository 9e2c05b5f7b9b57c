package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/fanfold/fanfold/internal/testenv"
)

func coordinationOf(listeners int) string {
	return fmt.Sprintf("coordination, %d listeners", listeners)
}

const inMariaDB = "fanfold, records in MariaDB"

// withPushing is the whole unit of work: where pushing is the fan-out, too, it belongs
// to it.
const withPushing = ", with the pushing"

// coordination measures jobs per second without SQL, for every system: all ids are
// pushed, then the workers are started. The systems take turns in each round.
func coordination(ctx context.Context, o options, dir string, r *results) error {
	list, err := choose(ctx, o.systems, r)
	if err != nil {
		return err
	}
	s, err := startServers(ctx, list, dir)
	if err != nil {
		return err
	}
	defer s.stop()
	withFanfold := len(list) > 0 && list[0].name == "fanfold"
	var mariadb *testenv.Database // for Fanfold's records
	if withFanfold {
		if mariadb, err = testenv.StartDatabase(ctx, mkdir(dir, "mariadb")); err != nil {
			return err
		}
		defer mariadb.Stop()
	}
	for round := range o.rounds {
		for _, load := range []struct{ listeners, jobs int }{{2, o.jobs}, {8, o.jobs * 2 / 5}} {
			what := coordinationOf(load.listeners)
			for _, x := range list {
				p, err := fresh(ctx, s, x, load.listeners)
				if err != nil {
					return fmt.Errorf("%s: %w", x.name, err)
				}
				if err := throughput(ctx, s, p, what, x.name, idsOf("r", round, load.jobs), r); err != nil {
					return err
				}
			}
		}
		if !withFanfold {
			continue
		}
		if err := s.empty(ctx); err != nil {
			return err
		}
		store, all, err := filledTable(ctx, mariadb, round, o.jobs)
		if err != nil {
			return err
		}
		p, err := newFanfold(s.at(), fanfoldOptions{listeners: 2, records: store})
		if err != nil {
			return err
		}
		if err := throughput(ctx, s, p, coordinationOf(2), inMariaDB, all, r); err != nil {
			return err
		}
	}
	return nil
}

// fresh is a peer that finds nothing of those before it.
func fresh(ctx context.Context, s servers, x system, listeners int) (peer, error) {
	if err := s.empty(ctx); err != nil {
		return nil, err
	}
	runtime.GC()
	return x.start(ctx, s, listeners)
}

func throughput(ctx context.Context, s servers, p peer, what, system string, ids []string, r *results) error {
	defer p.close()
	w, err := work(ctx, s, p, ids)
	if err != nil {
		return fmt.Errorf("%s, %s: %w", what, system, err)
	}
	r.add(what, system, "jobs/s", float64(len(ids))/w.took.Seconds())
	r.add(what+", pushing before that", system, "jobs/s", float64(len(ids))/w.pushed.Seconds())
	switch system {
	case "fanfold", "asynq", bareStreams: // all of their work is in this process and in Redis
		r.add(what+withServer, system, "µs/job", 1e6*w.redis/float64(len(ids)))
		r.add(what+withCPU, system, "µs/job", float64(w.process.Microseconds())/float64(len(ids)))
	}
	r.add(what+withPushing, system, "jobs/s", float64(len(ids))/(w.pushed+w.took).Seconds())
	return nil
}
