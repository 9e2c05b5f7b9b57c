package inspect

import (
	"context"
	"slices"
	"time"

	"github.com/fanfold/fanfold/scripts"
)

// Timers lists those that are set and those that are paused.
func (in *Inspector) Timers(ctx context.Context, match string, limit int) ([]Timer, error) {
	views := []Timer{}
	now, err := in.redis.Time(ctx).Result()
	if err != nil {
		return nil, err
	}
	for _, paused := range []bool{false, true} {
		state := "set"
		if paused {
			state = "paused"
		}
		found, err := in.scripts.ListTimers(ctx, paused, match, limit)
		if err != nil {
			return nil, err
		}
		for _, t := range found {
			v := in.Timer(t.Name, dueTime(t), state)
			if !paused && t.Finite && now.Sub(dueTime(t)) > missed {
				v.State = "overdue"
			}
			if v.Definition == "" {
				v.State += ", no definition"
			}
			views = append(views, v)
		}
	}
	slices.SortStableFunc(views, func(a, b Timer) int { return a.when().Compare(b.when()) })
	return views[:min(len(views), limit)], nil
}

// dueTime is when a timer is due; one that is never due has none.
func dueTime(t scripts.DueTimer) time.Time {
	if !t.Finite {
		return time.Time{}
	}
	return time.UnixMilli(t.Due)
}

func (v Timer) when() time.Time {
	if v.Due == nil {
		return time.Time{}
	}
	return *v.Due
}

// Timer is a timer as people see it.
type Timer struct {
	Name       string     `json:"name"`
	State      string     `json:"state"` // set, overdue or paused, with "no definition" where none matches; or what was done
	Due        *time.Time `json:"due,omitempty"`
	Every      string     `json:"every,omitempty"`
	Definition string     `json:"definition,omitempty"` // empty: none matches, it will not fire
}

// Timer describes a timer that is due at a time, or at none where that is zero.
func (in *Inspector) Timer(name string, due time.Time, state string) Timer {
	v := Timer{Name: name, State: state}
	if !due.IsZero() {
		due = due.UTC()
		v.Due = &due
	}
	if d, _, ok := in.config.Timers.Match(name); ok {
		v.Definition, v.Every = d.Name, d.Every.String()
	}
	return v
}
