package scripts

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/redis/go-redis/v9"
)

// Timeouts lists jobs whose deadline has passed.
type Timeouts struct {
	Passed []string      // jobs
	Last   int64         // the last deadline (ms) that was read
	Wait   time.Duration // until the next one has passed; 0: more have passed; negative: there is none
}

// Passed lists the running jobs whose deadline has passed after that time (ms) by the
// server's clock, about max of them. It touches the wake key, so that Redis publishes that
// it has expired if its time is over, and sets it for the next deadline.
func (s Clock) Passed(ctx context.Context, after int64, max int) (Timeouts, error) {
	wait, more, err := s.list(ctx, call(ctx, "deadlines", []string{s.Keys.Deadlines, s.Keys.Wake}, after, max))
	if err != nil {
		return Timeouts{}, err
	}
	d := Timeouts{Wait: time.Duration(wait) * time.Millisecond}
	d.Last, _ = more[0].(int64)
	for _, m := range more[1:] {
		if id, ok := m.(string); ok {
			d.Passed = append(d.Passed, id)
		}
	}
	return d, nil
}

// Touch tells whether a key exists. Redis deletes a key whose TTL has ended when it is touched, and
// publishes that it has expired.
func (s Clock) Touch(ctx context.Context, key string) (exists bool, err error) {
	c := redis.NewIntCmd(ctx, "exists", key)
	err = s.send(ctx, c)
	return c.Val() == 1, err
}

// SetCanary sets a subscriber's canary, which expires after a millisecond, so that Touch deletes
// it. It works in a full Redis.
func (s Clock) SetCanary(ctx context.Context, consumer string) error {
	_, err := s.outcome(ctx, call(ctx, "canary", []string{s.Keys.Canary(consumer)}))
	return err
}

// Overdue iterates over the running jobs whose deadline passed at least that long ago by
// the server's clock, a page at a time.
func (s Clock) Overdue(ctx context.Context, by time.Duration) iter.Seq2[[]Member, error] {
	return func(yield func([]Member, error) bool) {
		now, err := s.Now(ctx)
		if err != nil {
			yield(nil, fmt.Errorf("time of Redis: %w", err))
			return
		}
		// A job that moves to another page, because others are settled, is found by the
		// next call.
		for offset := 0; ; offset += pageSize {
			jobs, full, err := Sets(s).Until(ctx, s.Keys.Deadlines, now.Add(-by), false, offset)
			if !yield(jobs, err) || err != nil || !full {
				return
			}
		}
	}
}

// Repair restores the deadline of a running job that has lost it, or pushes the id of a job that has
// lost its hash, so that its record decides what comes next: OK for a push, Already for a deadline,
// Gone if nothing is missing.
func (s Clock) Repair(ctx context.Context, id string) (Outcome, error) {
	return s.outcome(ctx, call(ctx, "repair", []string{s.Keys.Job(id), s.Keys.Deadlines, s.Keys.Jobs, s.Keys.Wake}, id))
}
