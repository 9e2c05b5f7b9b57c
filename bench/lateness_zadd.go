package main

import (
	"context"
	"time"

	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/report"
)

// zadds adds one id after the other to the delayed set, due now, and measures how
// long it takes to the listener.
func zadds(ctx context.Context, server *testenv.Redis, records records, ids []string) ([]time.Duration, error) {
	p, err := newFanfold(servers{redis: server}.at(), fanfoldOptions{
		listeners: 1, records: records,
		// Away from what was measured before.
		keys: report.Keys{Prefix: "zadd:" + ids[0] + ":", Hash: "zadds-" + ids[0] + "-"},
	})
	if err != nil {
		return nil, err
	}
	defer p.close()
	type arrival struct {
		id string
		at time.Time
	}
	arrivals := make(chan arrival, len(ids))
	t := newTally(ids)
	var late []time.Duration
	err = during(ctx, p, told{folded: t.folded, started: func(id string) {
		arrivals <- arrival{id, time.Now()}
	}}, func(ctx context.Context) error {
		if err := wait(ctx, settleDown); err != nil {
			return err
		}
		for _, id := range ids {
			begin := time.Now()
			if err := p.pushAt(ctx, id, begin); err != nil {
				return err
			}
			var got arrival
			for got.id != id {
				select {
				case got = <-arrivals:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			late = append(late, got.at.Sub(begin))
			if err := wait(ctx, idlePause); err != nil {
				return err
			}
		}
		return nil
	})
	return late, err
}
