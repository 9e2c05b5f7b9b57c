package scripts

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts/job"
)

// Read returns the states that jobs have left with the datasets that are kept of them; nil: nothing is. Their
// listeners are those that have one, and their attempt is the one that has ended.
func (s Kept) Read(ctx context.Context, ids ...string) ([]*job.State, error) {
	cmds := make([]redis.Cmder, len(ids))
	for i, id := range ids {
		cmds[i] = call(ctx, "state", []string{s.Keys.Kept(id), s.Keys.Kept(id)})
	}
	if err := s.do(ctx, cmds...); err != nil {
		return nil, err
	}
	kept := make([]*job.State, len(ids))
	for i, id := range ids {
		// A key that another program has written is none.
		if state, err := stateOf(id, cmds[i].(*redis.Cmd)); err == nil && !state.Ended() {
			kept[i] = state
		}
	}
	return kept, nil
}

// Tickets returns the tickets of the segments that are kept of jobs, or that running jobs reuse, except for those of
// an attempt that ends.
func (s Kept) Tickets(ctx context.Context, ids []string, ends int64) ([]string, error) {
	cmds := make([]redis.Cmder, len(ids))
	for i, id := range ids {
		cmds[i] = call(ctx, "tickets", []string{s.Keys.Job(id), s.Keys.Kept(id)}, ends)
	}
	if err := s.send(ctx, cmds...); err != nil {
		return nil, err
	}
	var tickets []string
	for _, c := range cmds {
		of, err := c.(*redis.Cmd).StringSlice()
		if err != nil {
			return nil, fmt.Errorf("tickets: %w: %w", ErrReply, err)
		}
		tickets = append(tickets, of...)
	}
	return tickets, nil
}

// Remove deletes what is kept of jobs. Their segments in the spool are swept later.
func (s Kept) Remove(ctx context.Context, ids ...string) error {
	keys := []any{"unlink"}
	for _, id := range ids {
		keys = append(keys, s.Keys.Kept(id))
	}
	return s.send(ctx, redis.NewIntCmd(ctx, keys...))
}

// maxFreed is how many jobs Free looks at.
const maxFreed = 1000

// Free deletes what is kept of the jobs that failed last, so that running ones have the memory, and returns of how
// many jobs. Their segments in the spool are swept later. What is kept of cancelled jobs stays until it expires.
func (s Kept) Free(ctx context.Context) (int64, error) {
	ids, err := s.rdb.ZRevRange(ctx, s.Keys.Dead, 0, maxFreed-1).Result()
	if err != nil || len(ids) == 0 {
		return 0, asError("dead jobs", err)
	}
	for i, id := range ids {
		ids[i] = s.Keys.Kept(id)
	}
	n, err := s.rdb.Unlink(ctx, ids...).Result()
	return n, asError("delete what is kept", err)
}

// startKept is the command that starts an attempt which reuses datasets.
func startKept(ctx context.Context, s *conn, epoch string, j Start) *redis.Cmd {
	keys := []string{s.Keys.Deadlines, s.Keys.Events, s.Keys.Jobs, s.Keys.Wake, s.Keys.Epoch, s.Keys.ReplyTo,
		s.Keys.Finished, s.Keys.FanIn, s.Keys.FanInLarge, s.Keys.Job(j.ID), s.Keys.Ended(j.ID), s.Keys.Kept(j.ID)}
	args := []any{strings.Join(j.Reuse.Listeners, ","), j.Reuse.Attempt, j.Timeout.Milliseconds(),
		Margin.Milliseconds(), s.events, j.Report + "/" + j.Definition, epoch, asFlag(j.Waits), Group, maxInline,
		j.Keep, j.ID, j.Attempt, j.Parameters, digest(j.Parameters), j.Entry, j.Trace.Parent, j.Trace.Pushed, s.small,
		j.pushed()}
	for l := range strings.SplitSeq(j.Listeners, ",") {
		if !slices.Contains(j.Reuse.Listeners, l) {
			keys = append(keys, s.Keys.Task(l))
		}
		args = append(args, l)
	}
	return call(ctx, "start_kept", keys, args...)
}
