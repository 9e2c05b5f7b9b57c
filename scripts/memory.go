package scripts

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts/job"
)

const (
	// minPreempted and maxPreempted bound how long a preempted job waits before it is pushed again.
	minPreempted = 2 * time.Second
	maxPreempted = time.Minute
	// nextPause is the time between two polls of the job that starts next.
	nextPause = 200 * time.Millisecond
	// contended is how long Redis counts as full after a job was preempted.
	contended = time.Minute
	// contendersKept is how long contenders are kept after the last one was preempted.
	contendersKept = 24 * time.Hour
)

// Usage is the memory of a Redis in bytes.
type Usage struct {
	Used    int64
	Max     int64 // maxmemory; 0: no limit
	Freeing bool  // deleted keys are still being freed
}

// Percent returns how much of Max is used; 0 without a limit.
func (u Usage) Percent() int {
	if u.Max == 0 {
		return 0
	}
	return int(u.Used * 100 / u.Max)
}

// Usage returns the memory of the server of this partition. What Redis does not compare with
// maxmemory, such as buffers of replicas, is not part of it.
func (s Memory) Usage(ctx context.Context) (u Usage, err error) {
	node, err := s.Node(ctx)
	if err != nil {
		return u, err
	}
	info, err := node.InfoMap(ctx, "memory").Result()
	if err != nil {
		return u, fmt.Errorf("memory of Redis: %w", err)
	}
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(info["Memory"][name], 10, 64)
		return n
	}
	return Usage{
		Used: number("used_memory") - number("mem_not_counted_for_evict"), Max: number("maxmemory"),
		Freeing: number("lazyfree_pending_objects") > 0,
	}, nil
}

// Contender is a running job with data in Redis.
type Contender struct {
	ID      string
	Attempt int64
	Status  string // see job.StatusRun and the others
	Bytes   int64  // of its data
	Small   bool   // it has little data
	Since   time.Time
	of      *Scripts // its partition
}

// Before tells whether a job comes before another one: its first attempt began earlier.
func (c Contender) Before(other Contender) bool {
	if !c.Since.Equal(other.Since) {
		return c.Since.Before(other.Since)
	}
	return c.ID < other.ID
}

// Holders returns the running jobs with data in the server of a partition, of all partitions that it
// has.
func (p Partitions) Holders(ctx context.Context, of *Scripts) (holders []Contender, err error) {
	server, err := of.Node(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range p {
		node, err := s.Node(ctx)
		if err != nil {
			return nil, err
		}
		if node.Options().Addr != server.Options().Addr {
			continue
		}
		some, err := s.holders(ctx)
		if err != nil {
			return nil, err
		}
		holders = append(holders, some...)
	}
	return holders, nil
}

// holders returns those of a partition.
func (s *Scripts) holders(ctx context.Context) (holders []Contender, err error) {
	ids, err := s.rdb.ZRange(ctx, s.Keys.Deadlines, 0, -1).Result()
	if err != nil {
		return nil, fmt.Errorf("running jobs: %w", err)
	}
	contenders, err := s.Memory.Contenders(ctx)
	if err != nil {
		return nil, err
	}
	lines, _, err := s.Hashes.Lines(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		state, err := job.ParseLine(lines[i])
		if err != nil || state.Bytes == 0 {
			continue
		}
		c := Contender{
			ID: id, Attempt: state.Attempt, Status: state.Status, Bytes: state.Bytes, Small: state.Bytes <= s.small,
			Since: state.Started, of: s,
		}
		if first, ok := contenders[id]; ok {
			c.Since = first
		}
		holders = append(holders, c)
	}
	return holders, nil
}

// Contenders returns the jobs that have competed for a full Redis, with the start of their first
// attempts. Some of them may have ended.
func (s Memory) Contenders(ctx context.Context) (map[string]time.Time, error) {
	members, err := s.rdb.ZRangeWithScores(ctx, s.Keys.Contenders, 0, -1).Result()
	if err != nil {
		return nil, fmt.Errorf("contenders: %w", err)
	}
	since := make(map[string]time.Time, len(members))
	for _, z := range members {
		since[z.Member.(string)] = time.UnixMilli(int64(z.Score))
	}
	return since, nil
}

// Contention returns when a job was last preempted, in the last minute; zero: none was.
func (s Memory) Contention(ctx context.Context) (time.Time, error) {
	ms, err := s.rdb.Get(ctx, s.Keys.Full).Int64()
	if errors.Is(err, redis.Nil) {
		return time.Time{}, nil
	} else if err != nil {
		return time.Time{}, fmt.Errorf("whether Redis is full: %w", err)
	}
	return time.UnixMilli(ms), nil
}

// Preempt ends the attempt of a job that Holders has found, so that what it holds is freed for an
// older one, and pushes its id again later: OK, Busy if all of its data is complete or it ends, or
// Gone. Tasks with a memo are sent to their listeners once more, to be cancelled at their source.
func (s Memory) Preempt(ctx context.Context, c, older Contender) (Outcome, error) {
	if c.of != nil && c.of.conn != s.conn {
		older.ID = "" // it is no contender of this partition
		s = c.of.Memory
	} else if older.of != nil && older.of.conn != s.conn {
		older.ID = ""
	}
	for {
		listeners, err := s.rdb.HGet(ctx, s.Keys.Job(c.ID), "listeners").Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return 0, asError("preempt", err)
		}
		listeners = job.AllListeners(listeners)
		keys := []string{s.Keys.Job(c.ID), s.Keys.Ended(c.ID), s.Keys.Deadlines, s.Keys.Delayed, s.Keys.Events,
			s.Keys.Contenders, s.Keys.Full}
		for l := range strings.SplitSeq(listeners, ",") {
			keys = append(keys, s.Keys.Task(l))
		}
		preempt := call(ctx, "preempt", keys, c.ID, c.Attempt, older.ID, older.Since.UnixMilli(),
			minPreempted.Milliseconds(),
			maxPreempted.Milliseconds(), TombstoneTTL.Milliseconds(), contended.Milliseconds(),
			contendersKept.Milliseconds(), s.events, s.Keys.Cancelled, listeners)
		if err := s.do(ctx, append([]redis.Cmder{preempt}, s.lanes.left(ctx, c.ID)...)...); err != nil {
			return 0, err
		}
		n, err := preempt.Int64()
		if outcome := Outcome(n); err != nil || outcome != otherStage {
			return outcome, asError(nameOf(preempt), err)
		}
	}
}

// Turn is when a preempted job may start again.
type Turn struct {
	Since  time.Time // start of its first attempt; zero: it was not preempted
	Waited time.Duration
	After  string // the job that it waits for; empty: it may start
	Older  bool   // that job waits, too
}

// Turns returns the turns of jobs, by id, of those that were preempted. They start one after
// another, the oldest first, as long as Redis counts as full.
func (s Memory) Turns(ctx context.Context, ids []string) (map[string]Turn, error) {
	contenders, err := s.Contenders(ctx)
	if err != nil || len(contenders) == 0 {
		return nil, err
	}
	turns, asked := map[string]Turn{}, map[string]bool{}
	for _, id := range ids {
		asked[id] = true
		if since, ok := contenders[id]; ok {
			turns[id] = Turn{Since: since}
		}
	}
	if len(turns) == 0 {
		return nil, nil
	}
	now, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	full, err := s.Contention(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]string, 0, len(contenders))
	for id := range contenders {
		all = append(all, id)
	}
	_, statuses, err := Jobs{s.conn}.Attempts(ctx, all)
	if err != nil {
		return nil, err
	}
	delayed, err := Sets{s.conn}.Scores(ctx, s.Keys.Delayed, all)
	if err != nil {
		return nil, err
	}
	for id, turn := range turns {
		turn.Waited = now.Sub(turn.Since)
		me := Contender{ID: id, Since: turn.Since}
		for i, other := range all {
			due, waits := delayed[other]
			// later: somebody has delayed it
			waits = asked[other] || waits && due < float64(now.Add(maxPreempted).UnixMilli())
			runs := !(&job.State{Status: statuses[i]}).Ended()
			switch {
			case other == id:
			case waits && !runs && (Contender{ID: other, Since: contenders[other]}).Before(me):
				turn.After, turn.Older = other, true
			case !full.IsZero() && runs && !turn.Older:
				turn.After = other
			}
		}
		turns[id] = turn
	}
	return turns, nil
}

// Pause is the delay before a job whose turn has not come is polled again. It grows with the time
// that the job has waited.
func (t Turn) Pause() time.Duration {
	if !t.Older { // it is the next one
		return nextPause
	}
	return max(minPreempted, min(maxPreempted, t.Waited/8))
}

// RemoveContender removes a job from the contenders.
func (s Memory) RemoveContender(ctx context.Context, id string) error {
	return s.send(ctx, redis.NewIntCmd(ctx, "zrem", s.Keys.Contenders, id))
}
