package inspect

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/fanfold/fanfold/scripts"
)

// Timers are the set and paused timers.
type Timers struct{ o *Options }

// Missed is how long something may be overdue before the scheduler counts as missing.
const Missed = 5 * time.Second

// Timer is a timer, for people.
type Timer struct {
	Name string `json:"name"`
	// State is set, overdue or paused, with "no definition" if none matches; or what was done.
	State      string     `json:"state"`
	Due        *time.Time `json:"due,omitempty"` // nil: its score is not a valid time
	Every      string     `json:"every,omitempty"`
	Cron       string     `json:"cron,omitempty"`
	Definition string     `json:"definition,omitempty"` // empty: none matches, and it will not fire
	Report     string     `json:"report,omitempty"`     // of a schedule, which Fanfold sets itself
}

// List lists the set and paused timers whose names match, the next one first, up to a limit.
func (l Timers) List(ctx context.Context, match func(name string) bool, limit int) ([]Timer, error) {
	now, err := l.o.Scripts.First().Now(ctx)
	if err != nil {
		return nil, err
	}
	all, err := everywhere(l.o, 0, func(Timer, Timer) int { return 0 }, func(s *scripts.Scripts) ([]Timer, error) {
		return l.of(ctx, s, now, match, limit)
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all,
		func(a, b Timer) int { return cmp.Or(a.when().Compare(b.when()), cmp.Compare(a.Name, b.Name)) })
	return all[:min(len(all), limit)], nil
}

// of is List for one partition, unsorted.
func (l Timers) of(ctx context.Context, s *scripts.Scripts, now time.Time, match func(name string) bool,
	limit int) (all []Timer, err error) {
	for state, key := range map[string]string{"set": s.Keys.Timers, "paused": s.Keys.PausedTimers} {
		found, err := collect(each(s.Sets.Pages(ctx, key), func(m scripts.Member) Timer {
			due, _ := DueTime(m.Score)
			t := l.Describe(m.Name, due, state)
			if state == "set" && t.overdue(now) {
				t.State = "overdue"
			}
			if t.Definition == "" {
				t.State += ", no definition"
			}
			return t
		}), func(t Timer) bool { return match(t.Name) }, limit)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// Describe describes a timer. A zero time means that it has no valid time.
func (l Timers) Describe(name string, due time.Time, state string) Timer {
	t := Timer{Name: name, State: state}
	if !due.IsZero() {
		due = due.UTC()
		t.Due = &due
	}
	if d, _, ok := l.o.Config.Timers.Match(name); ok {
		t.Definition, t.Every, t.Cron = d.Name, d.Every.String(), d.Cron.String()
		if d.Schedule != nil {
			t.Report = d.Schedule.Report.Name
		}
	}
	return t
}

func (t Timer) when() time.Time {
	if t.Due == nil {
		return time.Time{}
	}
	return *t.Due
}

// overdue reports whether it should have fired.
func (t Timer) overdue(now time.Time) bool { return t.Due != nil && now.Sub(*t.Due) > Missed }
