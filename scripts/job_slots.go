package scripts

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts/job"
)

// slotGrace is how long a job may have a slot of a report before it must have a state.
const slotGrace = time.Minute

// TakeJobSlots takes slots for jobs of a report, of which at most limit run at once in all processes,
// and reports which jobs have one. A slot expires after the lease, unless it is released before.
func (s Limits) TakeJobSlots(ctx context.Context, report string, limit int, lease time.Duration,
	ids []string) ([]bool, error) {
	cmds := make([]redis.Cmder, len(ids))
	for i, id := range ids {
		cmds[i] = call(ctx, "slot", []string{s.shared.Running(report)}, id, limit, lease.Milliseconds())
	}
	if err := s.send(ctx, cmds...); err != nil {
		return nil, err
	}
	taken := make([]bool, len(ids))
	for i, c := range cmds {
		n, err := c.(*redis.Cmd).Int64()
		if err != nil {
			return nil, fmt.Errorf("slots of %s: %w", report, err)
		}
		taken[i] = n == 0
	}
	return taken, nil
}

// ReleaseJobSlots releases the slots of jobs.
func (s Limits) ReleaseJobSlots(ctx context.Context, report string, ids ...string) error {
	return s.send(ctx, redis.NewIntCmd(ctx, append([]any{"zrem", s.shared.Running(report)}, asArgs(ids)...)...))
}

// FreeJobSlots returns how many more jobs of a report may run. It releases the slots of jobs that did
// not end by Settle, for example because a process died before it started them, and renews the slots
// of jobs that run for longer than the lease. The jobs of a partition that cannot be reached count as
// running.
func (p Partitions) FreeJobSlots(ctx context.Context, report string, limit int, lease time.Duration) (int, error) {
	shared := p.First()
	now, err := shared.Now(ctx)
	if err != nil {
		return 0, err
	}
	key := shared.shared.Running(report)
	slots, err := shared.rdb.ZRangeWithScores(ctx, key, 0, -1).Result()
	if err != nil {
		return 0, fmt.Errorf("slots of %s: %w", report, err)
	}
	ends, of := map[string]time.Time{}, map[*Scripts][]string{}
	for _, z := range slots {
		id, _ := z.Member.(string)
		ends[id] = time.UnixMilli(int64(z.Score))
		of[p.Of(id)] = append(of[p.Of(id)], id)
	}
	taken := 0
	for s, ids := range of {
		_, statuses, err := s.Jobs.Attempts(ctx, ids)
		if err != nil {
			taken += len(ids)
			continue
		}
		for i, id := range ids {
			runs := !(&job.State{Status: statuses[i]}).Ended()
			switch {
			case runs && ends[id].Sub(now) < lease/2:
				err = shared.send(ctx, redis.NewIntCmd(ctx, "zadd", key, "xx", now.Add(lease).UnixMilli(), id))
				taken++
			case runs || now.Sub(ends[id].Add(-lease)) < slotGrace:
				taken++
			default:
				err = shared.Limits.ReleaseJobSlots(ctx, report, id)
			}
			if err != nil {
				return 0, err
			}
		}
	}
	return limit - taken, nil
}
