package main

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// arrivals is a source that says which jobs it has got, and when.
type arrivals chan arrival

type arrival struct {
	id string
	at time.Time
}

func (a arrivals) Read(ctx context.Context, task listeners.Task, out *listeners.Writer) error {
	a <- arrival{task.ID, time.Now()}
	return numbers{}.Read(ctx, task, out)
}

// zadds adds one id after the other to the delayed set, due now, and measures how
// long it takes to the listener.
func zadds(ctx context.Context, server *testenv.Redis, records engine.Records, files *memory, ids []string) ([]time.Duration, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	client, blocking := server.Client(), server.Client()
	defer client.Close()
	defer blocking.Close()
	rep, err := benchReport(1)
	if err != nil {
		return nil, err
	}
	reports := map[string]*report.Report{rep.Name: rep}
	limits := report.Limits{RunningJobs: 1000, Tasks: 64, Folds: 64, Grace: time.Minute, Lease: 10 * time.Second}
	// Away from what was measured before.
	s := scripts.New(scripts.Options{Redis: client, Keys: scripts.Keys{Prefix: "zadd:" + ids[0] + ":", Hash: "zadds-" + ids[0] + "-"}})
	source := make(arrivals, len(ids))
	eng, err := engine.New(engine.Options{
		Redis: blocking, Scripts: s, Records: records, Sink: files, Reports: reports, Limits: limits, Consumer: "bench",
	})
	if err != nil {
		return nil, err
	}
	lis, err := listeners.New(listeners.Options{
		Redis: blocking, Scripts: s, Reports: reports, Sources: map[string]listeners.Source{"numbers": source},
		Limits: limits, Consumer: "bench",
	})
	if err != nil {
		return nil, err
	}
	var group errgroup.Group
	group.Go(func() error { return eng.Run(ctx) })
	group.Go(func() error { return lis.Run(ctx) })
	keeper, err := keepTime(ctx, client, s)
	if err != nil {
		return nil, err
	}
	var late []time.Duration
	for _, id := range ids {
		begin := time.Now()
		if err := client.ZAdd(ctx, s.Delayed(), redis.Z{Score: float64(begin.UnixMilli()), Member: id}).Err(); err != nil {
			return nil, err
		}
		var got arrival
		for got.id != id {
			select {
			case got = <-source:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		late = append(late, got.at.Sub(begin))
		// The next one comes to idle workers.
		if err := wait(ctx, 10*time.Millisecond); err != nil {
			return nil, err
		}
	}
	keeper()
	stop()
	return late, group.Wait()
}
