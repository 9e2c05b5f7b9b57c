package scripts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts/job"
)

// Margin is how long a job's hash outlives its deadline, and the last claim or renewal.
const Margin = 10 * time.Minute

// TombstoneTTL is how long the tombstone of a job lasts.
const TombstoneTTL = time.Minute

// maxInline is the maximum size of parameters that the entry of a task carries, in bytes.
// Larger ones are read from the job's hash.
const maxInline = 1 << 10

// Start is what starts an attempt.
type Start struct {
	ID         string
	Attempt    int64
	Parameters []byte    // JSON object
	Entry      string    // of the stream of jobs, which is acknowledged; empty: none
	Pushed     time.Time // of the id, by Redis's clock; zero: unknown
	Trace      job.Trace
	Reuse      *Reuse // nil: it reads everything
	Plan
}

// Reuse is what an attempt takes from an earlier one. What else was kept of that is removed.
type Reuse struct {
	Attempt   int64    // of what Kept.Read returns
	Listeners []string // of all stages; those whose columns they use must be among them
}

// Plan is what the jobs of one definition have in common.
type Plan struct {
	Report     string
	Definition string // hash
	Timeout    time.Duration
	Listeners  string // of stage 1, with commas
	Keep       string // see job.Keep
	// Waits moves the deadline by the time for which a listener that the job waits for is
	// paused.
	Waits bool
}

// Start starts attempts: OK, Reusing if it takes something from an earlier one,
// Already if the same one has a state or has ended, Another if
// that is one of other parameters, of another report or definition, or of a later attempt,
// Broken, or Gone if Redis has another epoch (empty: any) than was read before the
// attempt was started for the first time: a call before this one, whose answer was lost,
// may have started this attempt, and it must not run twice.
// With an error, the jobs that another report or definition has have their outcomes, and the
// others are Busy: they did not start, or that is not known.
func (s Jobs) Start(ctx context.Context, epoch string, jobs ...Start) ([]Outcome, error) {
	of := map[Plan][]int{}
	var plans []Plan
	for i, j := range jobs {
		if j.Reuse != nil {
			continue
		}
		if of[j.Plan] == nil {
			plans = append(plans, j.Plan)
		}
		of[j.Plan] = append(of[j.Plan], i)
	}
	var cmds []redis.Cmder
	var batches [][]int
	for i, j := range jobs {
		if j.Reuse != nil {
			cmds, batches = append(cmds, startKept(ctx, s.conn, epoch, j)), append(batches, []int{i})
		}
	}
	for _, p := range plans {
		listeners := strings.Split(p.Listeners, ",")
		for batch := range slices.Chunk(of[p], batchJobs) {
			keys := append(make([]string, 0, 7+len(listeners)+2*len(batch)), s.Keys.Deadlines, s.Keys.Events,
				s.Keys.Jobs, s.Keys.Wake, s.Keys.Epoch, s.Keys.ReplyTo, s.Keys.Finished)
			args := append(make([]any, 0, 11+len(listeners)+8*len(batch)), len(batch), len(listeners),
				p.Timeout.Milliseconds(), Margin.Milliseconds(), s.events, p.Report+"/"+p.Definition, epoch,
				asFlag(p.Waits), Group, maxInline, p.Keep)
			for _, l := range listeners {
				keys, args = append(keys, s.Keys.Task(l)), append(args, l)
			}
			for _, i := range batch {
				j := jobs[i]
				keys = append(keys, s.Keys.Job(j.ID), s.Keys.Ended(j.ID))
				args = append(args, j.ID, j.Attempt, j.Parameters, digest(j.Parameters), j.Entry, j.Trace.Parent,
					j.Trace.Pushed, j.pushed())
			}
			cmds, batches = append(cmds, call(ctx, "start", keys, args...)), append(batches, batch)
		}
	}
	if err := s.do(ctx, cmds...); err != nil {
		return nil, err
	}
	all := make([]Outcome, len(jobs))
	var failed error
	for k, batch := range batches {
		outcomes, err := outcomesOf(cmds[k], len(batch))
		failed = cmp.Or(failed, err)
		for i, o := range outcomes {
			all[batch[i]] = o
		}
	}
	for i, o := range all {
		if o == NotKept && failed == nil { // it expired meanwhile
			j := jobs[i]
			j.Reuse = nil
			outcomes, err := s.Start(ctx, epoch, j)
			if all[i], failed = Busy, err; err == nil {
				all[i] = outcomes[0]
			}
		} else if o == NotKept {
			all[i] = Busy
		}
	}
	return all, failed
}

// pushed is when the id was pushed, as an argument.
func (j Start) pushed() string {
	if j.Pushed.IsZero() {
		return ""
	}
	return strconv.FormatInt(j.Pushed.UnixMilli(), 10)
}

// digest identifies parameters: FNV-1a in hexadecimal.
func digest(parameters []byte) string {
	h := fnv.New64a()
	_, _ = h.Write(parameters)
	return fmt.Sprintf("%016x", h.Sum64())
}

// Expire fails a job that is past its deadline, whatever its attempt. With OK it
// also returns how long ago that deadline was.
//
// A job that waits for a paused listener does not fail if its report is configured so: its deadline
// moves, and the outcome is Busy.
func (s Jobs) Expire(ctx context.Context, id string) (Outcome, time.Duration, error) {
	found, _, err := Gate{s.conn}.all(ctx) // also those that have ended: deadlines are moved before they are removed
	if err != nil {
		return Busy, 0, err
	}
	if outcome, err := (Gate{s.conn}).extend(ctx, id, found, minExtended); err != nil && !errors.Is(err, ErrBroken) ||
		outcome == OK {
		return Busy, 0, err
	}
	f := failure{reason: "deadline passed"}
	for member := range found {
		if name, ok := strings.CutPrefix(member, PausedListener("")); ok {
			f.paused = append(f.paused, name)
		}
	}
	for name, sources := range s.sources {
		if found.Stops(name, sources...) != "" {
			f.paused = append(f.paused, name)
		}
	}
	return claim{conn: s.conn, id: id, step: stepDeadline, token: "0"}.fail(ctx, f)
}

// ListDead adds a record whose job never ran to the dead jobs.
func (s Jobs) ListDead(ctx context.Context, id string) error {
	_, err := s.outcome(ctx, call(ctx, "delay", []string{s.Keys.Dead}, id, 0))
	return err
}

// Discard removes what another program has written in place of a running job's state, and
// quarantines it: OK, or Gone if the key is a state or does not exist. The record must be
// final before.
func (s Jobs) Discard(ctx context.Context, id string) (Outcome, error) {
	return s.outcome(ctx, call(ctx, "discard",
		[]string{s.Keys.Job(id), s.Keys.Deadlines, s.Keys.Contenders, s.Keys.Quarantined}, id, QuarantineCap))
}

// Note appends an event that changes no state, such as an ignored message.
func (s Jobs) Note(ctx context.Context, id string, attempt int64, event string, fields ...any) error {
	args := []any{"xadd", s.Keys.Events, "maxlen", "~", s.events, "*", "id", id, "attempt", attempt, "event", event}
	return s.send(ctx, redis.NewStringCmd(ctx, append(args, fields...)...))
}

// otherStage is what a script answers if the job has other listeners by now: those of another stage.
const otherStage Outcome = -4

// Cancel cancels a job: OK, Already, Gone if that attempt has no state or has ended, or
// Busy with its status, if it is PUBLISHING, or FAILING for another reason. After OK an
// engine makes the record CANCELLED, unless it is final, and removes the rest.
func (s Jobs) Cancel(ctx context.Context, id string, attempt int64,
	reason string) (outcome Outcome, status string, err error) {
	for {
		listeners, err := s.rdb.HGet(ctx, s.Keys.Job(id), "listeners").Result()
		if errors.Is(err, redis.Nil) {
			return Gone, "", nil
		} else if err != nil {
			return 0, "", asError("cancel", err)
		}
		listeners = job.AllListeners(listeners)
		keys := []string{s.Keys.Job(id), s.Keys.FanIn, s.Keys.Events, s.Keys.Delayed}
		for l := range strings.SplitSeq(listeners, ",") {
			keys = append(keys, s.Keys.Task(l))
		}
		outcome, more, err := s.list(ctx, call(ctx, "cancel", keys, id, attempt, reason, s.events, s.Keys.Cancelled,
			listeners, Margin.Milliseconds()))
		if err != nil {
			return 0, "", err
		}
		if outcome == otherStage {
			continue
		}
		if len(more) > 0 {
			status, _ = more[0].(string)
		}
		return outcome, status, nil
	}
}

// Running returns how many jobs are running.
func (s Jobs) Running(ctx context.Context) (int64, error) {
	n, err := s.rdb.ZCard(ctx, s.Keys.Deadlines).Result()
	if err != nil {
		return 0, fmt.Errorf("running jobs: %w", err)
	}
	return n, nil
}
