package scripts

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts/job"
)

// Pushes are the streams into which services push ids, of all partitions.
type Pushes Partitions

// PushFields are the fields of a push beside the id. An empty one is left out.
type PushFields struct {
	Traceparent string // of the trace of the job
	FresherThan string // see job.FresherThan
}

// Append pushes ids in one round trip.
func (p Pushes) Append(ctx context.Context, with PushFields, ids ...string) error {
	cmds := make([]redis.Cmder, len(ids))
	for i, id := range ids {
		cmds[i] = p.command(ctx, with, id)
	}
	return p[0].send(ctx, cmds...)
}

func (p Pushes) command(ctx context.Context, with PushFields, id string) redis.Cmder {
	args := []any{"xadd", Partitions(p).Of(id).Keys.Jobs, "*", "id", id}
	if with.Traceparent != "" {
		args = append(args, "traceparent", with.Traceparent)
	}
	if with.FresherThan != "" {
		args = append(args, job.FresherThan, with.FresherThan)
	}
	return redis.NewStringCmd(ctx, args...)
}

// DeadJobs are the sets of dead jobs, of all partitions.
type DeadJobs Partitions

// Remove removes jobs in one round trip, and tells which of them were listed.
func (d DeadJobs) Remove(ctx context.Context, ids ...string) ([]bool, error) {
	cmds := make([]redis.Cmder, len(ids))
	for i, id := range ids {
		cmds[i] = d.remove(ctx, id)
	}
	if err := d[0].send(ctx, cmds...); err != nil {
		return nil, err
	}
	removed := make([]bool, len(ids))
	for i, c := range cmds {
		removed[i] = c.(*redis.IntCmd).Val() > 0
	}
	return removed, nil
}

// PushAgain removes jobs and pushes their ids in one round trip, each one in this order, because a job
// that fails again at once is listed again.
func (d DeadJobs) PushAgain(ctx context.Context, with PushFields, ids ...string) error {
	cmds := make([]redis.Cmder, 0, 2*len(ids))
	for _, id := range ids {
		cmds = append(cmds, d.remove(ctx, id), Pushes(d).command(ctx, with, id))
	}
	return d[0].send(ctx, cmds...)
}

func (d DeadJobs) remove(ctx context.Context, id string) redis.Cmder {
	return redis.NewIntCmd(ctx, "zrem", Partitions(d).Of(id).Keys.Dead, id)
}
