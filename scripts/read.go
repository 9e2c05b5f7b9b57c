package scripts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts/job"
)

// ErrNoJob is returned if a job has no state.
var ErrNoJob error = final("job not found")

// Read returns the state of a job, or ErrNoJob. Of one that has ended within the last minute
// it knows the attempt, the status and how it ended.
func (s Jobs) Read(ctx context.Context, id string) (*job.State, error) {
	c := s.stateCall(ctx, id)
	if err := s.do(ctx, c); err != nil {
		return nil, err
	}
	return stateOf(id, c)
}

func (s Jobs) stateCall(ctx context.Context, id string) *redis.Cmd {
	return call(ctx, "state", []string{s.Keys.Job(id), s.Keys.Ended(id)})
}

// stateOf reads the answer to a stateCall.
func stateOf(id string, c *redis.Cmd) (*job.State, error) {
	values, err := c.StringSlice()
	if err != nil {
		return nil, asError("script state", err)
	}
	fields := make(map[string]string, len(values)/2)
	for i := 0; i+1 < len(values); i += 2 {
		fields[values[i]] = values[i+1]
	}
	if _, ended := fields["ended"]; !ended && fields["job"] == "" {
		return nil, fmt.Errorf("%w: %s", ErrNoJob, id)
	}
	state, err := job.Parse(id, fields)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return state, nil
}

// What Attempts returns for a key that is not a job.
const (
	StatusBroken  = "BROKEN"  // it is of another type
	StatusGarbled = "GARBLED" // its field job is not a state; a job that starts replaces it
)

// Attempts returns the attempt and status of each job; zero values for a job that is
// unknown, and StatusBroken or StatusGarbled for a key that is not a job.
func (s Jobs) Attempts(ctx context.Context, ids []string) ([]int64, []string, error) {
	_, attempts, statuses, err := s.EpochAndAttempts(ctx, ids)
	return attempts, statuses, err
}

// EpochAndAttempts is Attempts, and returns the epoch of this Redis as well: empty if it has
// none. If no job is known it takes one round trip.
func (s Jobs) EpochAndAttempts(ctx context.Context,
	ids []string) (epoch string, attempts []int64, statuses []string, err error) {
	attempts, statuses = make([]int64, len(ids)), make([]string, len(ids))
	if len(ids) == 0 {
		return "", attempts, statuses, nil
	}
	args := []any{"exists"}
	for _, id := range ids {
		args = append(args, s.Keys.Job(id), s.Keys.Ended(id))
	}
	exist, now := redis.NewIntCmd(ctx, args...), redis.NewStringCmd(ctx, "get", s.Keys.Epoch)
	if err := s.do(ctx, exist, now); err != nil {
		return "", nil, nil, err
	}
	if epoch, err = now.Result(); err != nil && !errors.Is(err, redis.Nil) {
		return "", nil, nil, fmt.Errorf("epoch: %w", err)
	}
	if known, err := exist.Result(); err != nil || known == 0 {
		return epoch, attempts, statuses, asError("states", err) // most often none is
	}
	cmds := make([]redis.Cmder, 2*len(ids))
	for i, id := range ids {
		cmds[2*i] = redis.NewStringCmd(ctx, "hget", s.Keys.Job(id), "job")
		cmds[2*i+1] = redis.NewStringCmd(ctx, "get", s.Keys.Ended(id))
	}
	if err := s.do(ctx, cmds...); err != nil {
		return "", nil, nil, fmt.Errorf("states: %w", err)
	}
	for i := range ids {
		text, err := cmds[2*i].(*redis.StringCmd).Result()
		if err == nil {
			if _, garbled := job.ParseLine(text); garbled != nil {
				statuses[i] = StatusGarbled
				continue
			}
		} else if errors.Is(err, redis.Nil) {
			text, err = cmds[2*i+1].(*redis.StringCmd).Result()
		}
		switch {
		case errors.Is(err, redis.Nil):
		case redis.HasErrorPrefix(err, "WRONGTYPE"):
			statuses[i] = StatusBroken
		case err != nil:
			return "", nil, nil, fmt.Errorf("states: %w", err)
		default:
			attempts[i], statuses[i] = job.Head(text)
		}
	}
	return epoch, attempts, statuses, nil
}

// Found is a job that runs, as Turn finds it.
type Found struct {
	ID    string
	State *job.State // nil: none
	Err   error      // the state cannot be read
}

// Turn returns some of the running jobs, at most count, and Redis's time, which decides which jobs
// these are, in every process: of those in the order of their deadlines, the next ones after each
// period.
func (s Jobs) Turn(ctx context.Context, period time.Duration, count int64) ([]Found, time.Time, error) {
	now, err := s.Now(ctx)
	if err != nil {
		return nil, now, err
	}
	running, err := s.Running(ctx)
	if err != nil {
		return nil, now, err
	}
	pages := max(1, (running+count-1)/count)
	offset := now.UnixMilli() / max(1, period.Milliseconds()) % pages * count
	ids, err := s.rdb.ZRange(ctx, s.Keys.Deadlines, offset, offset+count-1).Result()
	if err != nil {
		return nil, now, fmt.Errorf("running jobs: %w", err)
	}
	cmds := make([]redis.Cmder, len(ids))
	for i, id := range ids {
		cmds[i] = s.stateCall(ctx, id)
	}
	if err := s.do(ctx, cmds...); err != nil {
		return nil, now, fmt.Errorf("states: %w", err)
	}
	found := make([]Found, len(ids))
	for i, id := range ids {
		state, err := stateOf(id, cmds[i].(*redis.Cmd))
		if errors.Is(err, ErrNoJob) {
			err = nil
		}
		if err == nil && state != nil && state.Ended() {
			state = nil
		}
		found[i] = Found{ID: id, State: state, Err: err}
	}
	return found, now, nil
}

// WriteProgress writes a line of progress into the hash of every job that still runs in this attempt.
// It returns how many it wrote.
func (s Jobs) WriteProgress(ctx context.Context, jobs []*job.State, texts []string) (Outcome, error) {
	var keys []string
	var args []any
	for i, j := range jobs {
		keys, args = append(keys, s.Keys.Job(j.ID)), append(args, j.Attempt, texts[i])
	}
	return s.outcome(ctx, call(ctx, "progress", keys, args...))
}
