package scripts

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts/job"
)

// Fallback is what the last job of a report with a file has left for later jobs with the same parameters.
type Fallback struct {
	*job.State // of that job. Its listeners are those of which a dataset is left
	s          *conn
}

// Read returns what is left in this partition of a report for some parameters, and Redis's time; nil: nothing.
func (s Fallbacks) Read(ctx context.Context, report string, parameters []byte) (*Fallback, time.Time, error) {
	id := redis.NewStringCmd(ctx, "get", s.Keys.Fallback(report, digest(parameters)))
	now := redis.NewTimeCmd(ctx, "time")
	if err := s.do(ctx, id, now); err != nil {
		return nil, time.Time{}, err
	}
	if err := id.Err(); errors.Is(err, redis.Nil) {
		return nil, time.Time{}, nil
	} else if err = cmp.Or(err, now.Err()); err != nil {
		return nil, time.Time{}, asError("fallback", err)
	}
	states, err := s.states(ctx, id.Val())
	if err != nil || states[0] == nil {
		return nil, time.Time{}, err
	}
	return &Fallback{states[0], s.conn}, now.Val(), nil
}

// states returns what jobs have left for later ones; nil: nothing.
func (s Fallbacks) states(ctx context.Context, ids ...string) ([]*job.State, error) {
	cmds := make([]redis.Cmder, len(ids))
	for i, id := range ids {
		cmds[i] = call(ctx, "state", []string{s.Keys.Good(id), s.Keys.Good(id)})
	}
	if err := s.do(ctx, cmds...); err != nil {
		return nil, err
	}
	states := make([]*job.State, len(ids))
	for i, id := range ids {
		state, err := stateOf(id, cmds[i].(*redis.Cmd))
		switch {
		case err == nil && !state.Ended():
			states[i] = state
		case err != nil && !errors.Is(err, ErrNoJob) && !errors.Is(err, ErrBroken):
			return nil, err
		} // otherwise another program has written the key: nothing is left
	}
	return states, nil
}

// Stored returns the dataset of a listener that lies in Redis. After ErrNoChunk, it has expired or was replaced.
func (f *Fallback) Stored(listener string) Chunks {
	return Chunks{folds: Folds{f.s}, key: f.s.Keys.Good(f.ID), listener: listener, from: f.From}
}

// Tickets returns the tickets of the segments that jobs have left for later ones.
func (s Fallbacks) Tickets(ctx context.Context, ids []string) (tickets []string, err error) {
	states, err := s.states(ctx, ids...)
	for _, state := range states {
		if state == nil {
			continue
		}
		for _, t := range state.Tasks {
			if t.At != "" {
				tickets = append(tickets, t.At)
			}
		}
	}
	return tickets, err
}

// before returns the jobs that have left what these ends replace, by their fallbacks.
func (s Fallbacks) before(ctx context.Context, ends []End) (map[string]string, error) {
	var keys []string
	for _, e := range ends {
		if e.Keep.Good(e.Status) {
			keys = append(keys, s.Keys.Fallback(e.Report, digest(e.Parameters)))
		}
	}
	if keys == nil {
		return nil, nil
	}
	ids, err := s.rdb.MGet(ctx, keys...).Result()
	if err != nil {
		return nil, asError("fallbacks", err)
	}
	before := map[string]string{}
	for i, key := range keys {
		before[key], _ = ids[i].(string)
	}
	return before, nil
}

// Free deletes what jobs have left for later ones, at most that of maxFreed jobs, so that running ones have the
// memory, and returns of how many. The segments in the spool are swept later.
func (s Fallbacks) Free(ctx context.Context) (int64, error) {
	ids, err := s.rdb.ZRange(ctx, s.Keys.Fallbacks, 0, maxFreed-1).Result()
	if err != nil || len(ids) == 0 {
		return 0, asError("fallbacks", err)
	}
	keys, members := make([]string, len(ids)), make([]any, len(ids))
	for i, id := range ids {
		keys[i], members[i] = s.Keys.Good(id), id
	}
	n, err := s.rdb.Unlink(ctx, keys...).Result()
	if err == nil {
		err = s.rdb.ZRem(ctx, s.Keys.Fallbacks, members...).Err()
	}
	return n, asError("delete fallbacks", err)
}

// Begin prepares a task to store a dataset that an earlier job has read at a time, because its own tries have
// failed: OK, Busy or Gone. What it had stored is removed. Append and Complete follow, as in a try.
func (s Fallbacks) Begin(ctx context.Context, t *Task, at time.Time, why string) (Outcome, error) {
	outcome, more, err := s.list(ctx, call(ctx, "fall_back", []string{s.Keys.Job(t.ID), s.Keys.Events},
		t.ID, t.Attempt, t.Listener, t.Generation, at.UnixMilli(), why, s.events, t.Entry.ID))
	if err == nil && outcome == OK && len(more) == 1 {
		t.Generation, _ = more[0].(int64)
		t.writer, t.Service = "", ""
	}
	return outcome, err
}
