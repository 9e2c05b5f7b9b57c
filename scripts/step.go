package scripts

import (
	"context"
	"time"

	"github.com/fanfold/fanfold/scripts/job"
)

// Again says how a step is tried again that could not be done.
type Again struct {
	Delay  time.Duration // 0: at once
	Counts bool          // the try is one of those that the step has
	Waits  bool          // nothing went wrong: a task waits, and Error says for what; it does not count
	Error  string        // why; empty keeps what the state says
	Blame  job.Blame
}

// keep, requeue and handBack do what the methods of a task and of a fold say.
func (s *conn) keep(ctx context.Context, id string, attempt int64, step, token string, lease time.Duration, e Entry) (Outcome, error) {
	return s.outcome(ctx, call(ctx, "keep", []string{s.Keys.Job(id), e.Stream},
		attempt, step, token, millis(lease), Margin.Milliseconds(), e.Group, e.Consumer, e.ID))
}

func (s *conn) requeue(ctx context.Context, id string, attempt int64, step string, token int64, stream string, e Entry, a Again) (Outcome, error) {
	counts := "0"
	switch {
	case a.Waits:
		counts = "wait"
	case a.Counts:
		counts = "1"
	}
	return s.outcome(ctx, call(ctx, "requeue", []string{s.Keys.Job(id), s.Keys.Delayed, s.Keys.Events, stream},
		id, attempt, step, token, a.Delay.Milliseconds(), counts, a.Error, s.events, Margin.Milliseconds(), Group, e.ID, string(a.Blame)))
}

// handBackAfter is how long a step waits that is handed back.
const handBackAfter = time.Second

func (s *conn) handBack(ctx context.Context, id string, attempt int64, step string, e Entry) error {
	_, err := s.outcome(ctx, call(ctx, "handback", []string{s.Keys.Job(id), s.Keys.Delayed, e.Stream},
		id, attempt, step, handBackAfter.Milliseconds(), Group, e.ID, e.Consumer))
	return err
}
