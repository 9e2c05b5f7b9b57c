package scripts

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/fanfold/fanfold/scripts/job"
)

// claim is the hold of one worker on a step: what a Task and a Fold have in common.
type claim struct {
	*conn
	id      string
	attempt int64
	step    string // the name of a listener, job.StepFanIn, job.StepRecord or stepDeadline
	token   string // generation of a task or fence of a job
	entry   Entry
}

// stepDeadline fails jobs whose deadline has passed.
const stepDeadline = "@deadline"

// stream returns the stream of the entry or, without an entry, of the step.
func (c claim) stream() string {
	if strings.HasPrefix(c.step, "@") {
		return cmp.Or(c.entry.Stream, c.Keys.FanIn)
	}
	return cmp.Or(c.entry.Stream, c.Keys.Task(c.step))
}

// renew renews the lease of the entry, or of an owner that does not read the stream.
func (c claim) renew(ctx context.Context, lease time.Duration) (Outcome, error) {
	return c.outcome(ctx, call(ctx, "renew_step", []string{c.Keys.Job(c.id), c.stream()},
		c.attempt, c.step, c.token, millis(lease), Margin.Milliseconds(), Group, c.entry.Consumer, c.entry.ID))
}

// Requeue says how a step that could not be done is retried.
type Requeue struct {
	Delay  time.Duration // 0: at once
	Counts bool          // the step has one try less
	Waits  bool          // nothing failed: a task waits for what Error says; this does not count
	Error  string        // why; empty keeps what the state says
	Blame  job.Blame
}

func (c claim) requeue(ctx context.Context, a Requeue) (Outcome, error) {
	counts := "0"
	switch {
	case a.Waits:
		counts = "wait"
	case a.Counts:
		counts = "1"
	}
	return c.outcome(ctx, call(ctx, "requeue", []string{c.Keys.Job(c.id), c.Keys.Delayed, c.Keys.Events, c.stream()},
		c.id, c.attempt, c.step, c.token, a.Delay.Milliseconds(), counts, a.Error, c.events, Margin.Milliseconds(),
		Group, c.entry.ID, string(a.Blame)))
}

// handBackAfter is the delay of a step that is handed back.
const handBackAfter = time.Second

// handBack leaves the step to a process that has its definition.
func (c claim) handBack(ctx context.Context) error {
	_, err := c.outcome(ctx, call(ctx, "handback", []string{c.Keys.Job(c.id), c.Keys.Delayed, c.stream()},
		c.id, c.attempt, c.step, handBackAfter.Milliseconds(), Group, c.entry.ID, c.entry.Consumer))
	return err
}

// failure is why a job fails.
type failure struct {
	reason string
	blame  job.Blame
	remove bool  // its file may exist
	paused []any // listeners, for the reason of a deadline
}

// fail fails the job, and returns how late it is.
func (c claim) fail(ctx context.Context, f failure) (Outcome, time.Duration, error) {
	keys := []string{c.Keys.Job(c.id), c.Keys.FanIn, c.Keys.Events, c.Keys.Delayed, c.stream()}
	args := []any{c.id, c.attempt, c.step, c.token, f.reason, c.events, asFlag(f.remove), Group, c.entry.ID,
		string(f.blame), Margin.Milliseconds()}
	outcome, more, err := c.list(ctx, call(ctx, "fail", keys, append(args, f.paused...)...))
	if err != nil || len(more) < 2 {
		return outcome, 0, err
	}
	late, _ := more[1].(int64)
	return outcome, time.Duration(late) * time.Millisecond, nil
}
