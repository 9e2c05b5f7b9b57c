package scripts

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/fault"
)

// ErrNoTimer is returned if a timer does not exist.
var ErrNoTimer = fault.NotFound.New("no such timer")

// Set sets a timer, in place of an earlier time; a time that has passed makes it fire at once. It
// also resumes a paused timer.
func (s Timers) Set(ctx context.Context, name string, due time.Time) error {
	_, err := s.set(ctx, name, strconv.FormatInt(due.UnixMilli(), 10))
	return err
}

// Remove removes a timer and its key, or returns ErrNoTimer.
func (s Timers) Remove(ctx context.Context, name string) error {
	outcome, err := s.set(ctx, name, "")
	if err == nil && outcome != OK {
		return fmt.Errorf("%w: %s", ErrNoTimer, name)
	}
	return err
}

func (s Timers) set(ctx context.Context, name, due string) (Outcome, error) {
	return s.outcome(ctx, call(ctx, "timer_set",
		[]string{s.Keys.Timers, s.Keys.PausedTimers, s.Keys.RecentTimers, s.Keys.TimerAnchors, s.Keys.Timer(name)},
		name, due))
}

// Pause keeps a timer from firing until Resume, if it is not paused
// already; it returns when it is due, or ErrNoTimer.
func (s Timers) Pause(ctx context.Context, name string) (time.Time, error) {
	return s.move(ctx, name, s.Keys.Timers, s.Keys.PausedTimers, 1)
}

// Resume lets a timer fire again that was paused, if it was; it returns when it
// is due, which may have passed, or ErrNoTimer.
func (s Timers) Resume(ctx context.Context, name string) (time.Time, error) {
	return s.move(ctx, name, s.Keys.PausedTimers, s.Keys.Timers, 0)
}

func (s Timers) move(ctx context.Context, name, from, to string, key int) (time.Time, error) {
	due, err := s.outcome(ctx, call(ctx, "timer_move",
		[]string{from, to, s.Keys.RecentTimers, s.Keys.Timer(name)}, name, key))
	if err == nil && due < 0 {
		err = fmt.Errorf("%w: %s", ErrNoTimer, name)
	}
	return time.UnixMilli(int64(due)), err
}

// FireNow fires a timer now, even if it is not set. A repeating timer keeps its next time.
func (s Timers) FireNow(ctx context.Context, name string, repeats bool) (time.Time, error) {
	now, err := s.outcome(ctx, call(ctx, "timer_now", []string{
		s.Keys.Timers, s.Keys.PausedTimers, s.Keys.RecentTimers, s.Keys.TimerAnchors, s.Keys.Timer(name),
		s.Keys.Fired, s.Keys.Events,
	}, name, asFlag(repeats), s.events))
	return time.UnixMilli(int64(now)), err
}

// Done appends the event that a timer's action has ended.
func (s Timers) Done(ctx context.Context, name, due, outcome string, more ...string) error {
	args := []any{"xadd", s.Keys.Events, "maxlen", "~", s.events, "*", "event", "timer", "timer", name, "due", due,
		"outcome", outcome}
	for _, m := range more {
		args = append(args, m)
	}
	return s.send(ctx, redis.NewStringCmd(ctx, args...))
}
