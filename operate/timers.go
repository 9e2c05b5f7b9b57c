package operate

import (
	"context"
	"fmt"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Timers changes timers. Methods return scripts.ErrNoTimer if they need a timer that does not exist.
type Timers struct{ in *inspect.Inspector }

// Check checks that a text can be the name of a timer and, if defined is true, that a definition
// matches it.
func (t Timers) Check(name string, defined bool) error {
	if !report.ValidTimer(name) {
		return fault.Input.New("%.80q is not a valid timer name: use 1 to 200 printable ASCII characters without spaces",
			name)
	}
	if _, _, ok := t.in.Config.Timers.Match(name); defined && !ok {
		return fault.Input.New("timer %s: %s", name, report.WhyUndefined(name))
	}
	return nil
}

// Set sets a timer, in place of an earlier time.
func (t Timers) Set(ctx context.Context, name string, at time.Time) (err error) {
	act, err := begin(ctx, t.in, "timer set", name)
	if err != nil {
		return err
	}
	act.more = "to " + at.UTC().Format(time.RFC3339)
	defer act.end(ctx, &err)
	s, err := t.of(ctx, name)
	if err != nil {
		return err
	}
	return s.Set(ctx, name, at)
}

// Pause pauses a timer: it does not fire. It returns the time, which the timer keeps.
func (t Timers) Pause(ctx context.Context, name string) (due time.Time, err error) {
	act, err := begin(ctx, t.in, "timer pause", name)
	if err != nil {
		return time.Time{}, err
	}
	defer act.end(ctx, &err)
	s, err := t.of(ctx, name)
	if err != nil {
		return time.Time{}, err
	}
	return s.Pause(ctx, name)
}

// Resume resumes a paused timer, which fires at once if its time has passed. It returns that time.
func (t Timers) Resume(ctx context.Context, name string) (due time.Time, err error) {
	act, err := begin(ctx, t.in, "timer resume", name)
	if err != nil {
		return time.Time{}, err
	}
	defer act.end(ctx, &err)
	s, err := t.of(ctx, name)
	if err != nil {
		return time.Time{}, err
	}
	return s.Resume(ctx, name)
}

// Fire fires a timer now, whether it is set or not. It returns the next time of a timer that repeats,
// which does not change.
func (t Timers) Fire(ctx context.Context, name string) (due time.Time, err error) {
	act, err := begin(ctx, t.in, "timer fire", name)
	if err != nil {
		return time.Time{}, err
	}
	defer act.end(ctx, &err)
	s, err := t.of(ctx, name)
	if err != nil {
		return time.Time{}, err
	}
	definition, _, _ := t.in.Config.Timers.Match(name)
	return s.FireNow(ctx, name, definition.Repeats())
}

// Remove removes a timer and its key. It refuses a schedule of the configuration, which would be set again.
func (t Timers) Remove(ctx context.Context, name string) (err error) {
	act, err := begin(ctx, t.in, "timer rm", name)
	if err != nil {
		return err
	}
	defer act.end(ctx, &err)
	if d, _, ok := t.in.Config.Timers.Match(name); ok && d.Schedule != nil {
		return fault.Input.New("%s: the configuration sets this timer: remove %s from it, or pause the timer", name, d.Name)
	}
	s, err := t.of(ctx, name)
	if err != nil {
		return err
	}
	return s.Remove(ctx, name)
}

// Exists returns nil if a timer is set or paused.
func (t Timers) Exists(ctx context.Context, name string) error {
	if err := t.Check(name, false); err != nil {
		return err
	}
	_, ok, err := t.find(ctx, name)
	if err == nil && !ok {
		err = fmt.Errorf("%w: %s", scripts.ErrNoTimer, name)
	}
	return err
}

// of returns the timers of the partition that has a timer: the partition of its name, or another one
// in which a service has set it.
func (t Timers) of(ctx context.Context, name string) (scripts.Timers, error) {
	home := t.in.Scripts.OfTimer(name).Timers
	if len(t.in.Scripts) == 1 {
		return home, nil
	}
	if found, ok, err := t.find(ctx, name); ok || err != nil {
		return found, err
	}
	return home, nil
}

// find returns the timers of the partition that has a timer; false: none has it.
func (t Timers) find(ctx context.Context, name string) (scripts.Timers, bool, error) {
	for _, s := range t.in.Scripts {
		for _, set := range []string{s.Keys.Timers, s.Keys.PausedTimers} {
			found, err := s.Sets.Scores(ctx, set, []string{name})
			if err != nil {
				return scripts.Timers{}, false, err
			}
			if len(found) > 0 {
				return s.Timers, true, nil
			}
		}
	}
	return scripts.Timers{}, false, nil
}
