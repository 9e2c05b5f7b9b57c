package scripts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts/job"
)

// Pauses maps what is paused to the time of its pause.
type Pauses map[string]time.Time

// PausedListener is the member of a listener that is paused, PausedReport that of a
// report.
func PausedListener(name string) string { return pausedListener + name }
func PausedReport(name string) string   { return "report/" + name }

const pausedListener = "listener/"

// maxPausesAge is the maximum age of the cached pauses.
const maxPausesAge = 500 * time.Millisecond

// Paused returns what is paused.
func (s Gate) Paused(ctx context.Context) (Pauses, error) {
	members, err := s.rdb.ZRangeWithScores(ctx, s.Keys.PausedSet, 0, -1).Result()
	if err != nil {
		return nil, fmt.Errorf("what is paused: %w", err)
	}
	found := Pauses{}
	for _, z := range members {
		name, _ := z.Member.(string)
		found[name] = time.UnixMilli(int64(z.Score))
	}
	return found, nil
}

// IsPaused tells whether a member is paused. The answer can be up to half a second old.
func (s Gate) IsPaused(ctx context.Context, member string) (bool, error) {
	found, err := s.paused.Get(ctx, struct{}{})
	_, ok := found[member]
	return ok, err
}

// pause pauses a member, if it is not paused already, and returns since when it is.
func (s Gate) pause(ctx context.Context, member string) (since time.Time, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return since, err
	}
	if err := s.rdb.ZAddNX(ctx, s.Keys.PausedSet,
		redis.Z{Member: member, Score: float64(now.UnixMilli())}).Err(); err != nil {
		return since, fmt.Errorf("pause %s: %w", member, err)
	}
	at, err := s.rdb.ZScore(ctx, s.Keys.PausedSet, member).Result()
	if err != nil {
		return since, fmt.Errorf("pause %s: %w", member, err)
	}
	return time.UnixMilli(int64(at)), nil
}

// extendAll moves the deadlines of the jobs that wait for what is paused, if their reports are
// configured so.
func (s Gate) extendAll(ctx context.Context, found Pauses) error {
	// A job that starts from now on has hardly waited.
	ids, err := s.rdb.ZRange(ctx, s.Keys.Deadlines, 0, -1).Result()
	if err != nil {
		return fmt.Errorf("running jobs: %w", err)
	}
	for _, id := range ids {
		if _, err := s.extend(ctx, id, found, 0); err != nil && !errors.Is(err, ErrBroken) {
			return err
		}
	}
	return nil
}

// unpause ends a pause, if there is one.
func (s Gate) unpause(ctx context.Context, member string) error {
	if err := s.rdb.ZRem(ctx, s.Keys.PausedSet, member).Err(); err != nil {
		return fmt.Errorf("resume %s: %w", member, err)
	}
	return nil
}

// extend moves the deadline of a job that waits for a listener that is paused: OK,
// Busy if it does not move, or Gone. At least min is left then.
func (s Gate) extend(ctx context.Context, id string, paused Pauses, min time.Duration) (Outcome, error) {
	have := redis.NewSliceCmd(ctx, "hmget", s.Keys.Job(id), "waits", "job", "listeners")
	if err := s.send(ctx, have); err != nil {
		return 0, err
	}
	waits, _ := have.Val()[0].(string)
	line, _ := have.Val()[1].(string)
	listeners, _ := have.Val()[2].(string)
	attempt, _ := job.Head(line)
	args := []any{id, attempt, Margin.Milliseconds(), min.Milliseconds()}
	for l := range strings.SplitSeq(job.AllListeners(listeners), ",") {
		if since, ok := paused[PausedListener(l)]; ok {
			args = append(args, l, since.UnixMilli())
		}
	}
	if waits == "" || len(args) == 4 {
		return Busy, nil
	}
	outcome, _, err := s.list(ctx, call(ctx, "extend",
		[]string{s.Keys.Job(id), s.Keys.Deadlines, s.Keys.Wake}, args...))
	return outcome, err
}

// minExtended is the minimum extension of a deadline that passes during a pause.
const minExtended = time.Second

// releasePage is how many ids are released at once.
const releasePage = 500

// Park keeps the id of a record whose report is paused until the report is resumed.
func (s Gate) Park(ctx context.Context, report, id string) error {
	if _, err := s.outcome(ctx, call(ctx, "delay", []string{s.Keys.Waiting(report)}, id, 0)); err != nil {
		return err
	}
	// Read after that: a resume of the report may have released the others before this one was
	// added, or may be removing this one after pushing it.
	_, err := s.rdb.ZScore(ctx, s.Keys.PausedSet, PausedReport(report)).Result()
	if errors.Is(err, redis.Nil) {
		s.paused.Forget() // an id that is released now must not be parked again
		if err = (Streams{s.conn}).Push(ctx, map[string]string{"id": id}); err == nil {
			err = s.send(ctx, redis.NewIntCmd(ctx, "zrem", s.Keys.Waiting(report), id))
		}
	}
	return err
}

// Waiting returns the ids that wait for a report, in their order, at most max of them.
func (s Gate) Waiting(ctx context.Context, report string, max int) ([]string, error) {
	ids, err := s.rdb.ZRange(ctx, s.Keys.Waiting(report), 0, int64(max)-1).Result()
	if err != nil {
		return nil, fmt.Errorf("ids that wait for %s: %w", report, err)
	}
	return ids, nil
}

// Release pushes ids that wait for a report, and returns how many it pushed.
func (s Gate) Release(ctx context.Context, report string, ids []string) (int, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	n, err := s.outcome(ctx, call(ctx, "release", []string{s.Keys.Waiting(report), s.Keys.Jobs}, asArgs(ids)...))
	return int(n), err
}

// ReleaseAll pushes all ids that wait for a report, in their order, and returns how many it pushed.
func (s Gate) ReleaseAll(ctx context.Context, report string) (n int, err error) {
	for {
		ids, err := s.Waiting(ctx, report, releasePage)
		if err != nil || len(ids) == 0 {
			return n, err
		}
		released, err := s.Release(ctx, report, ids)
		if n += released; err != nil {
			return n, err
		}
	}
}
