package scheduler

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// leftFor is how long a timer, or a firing, that no definition here matches is
// left to others: while versions are rolled, a newer process may know it.
const leftFor = 10 * time.Minute

// fireDue fires what is due, and returns how long it is until the next timer.
// What is left to others does not count: the loop polls again every second.
func (t *Timers) fireDue(ctx context.Context) (time.Duration, error) {
	t.tick()
	fired := 0
	for left := 0; ; {
		due, now, wait, err := t.scripts.Timers.Due(ctx, most, left)
		if err != nil {
			return 0, err
		}
		var firings []scripts.Firing
		for _, d := range due {
			if f, ok := t.decide(d, now); ok {
				firings = append(firings, f)
			}
		}
		outcomes, err := t.scripts.Timers.Fire(ctx, firings)
		for i, outcome := range outcomes {
			if f := firings[i]; outcome == scripts.OK && f.Verdict != scripts.TimerFired {
				t.log.Warn("timer does not fire", "timer", f.Name, "outcome", f.Verdict, "why", f.Reason)
			}
		}
		if err != nil {
			return 0, err
		}
		fired += len(firings)
		left += len(due) - len(firings)
		switch {
		case len(due) >= most && len(firings) < len(due):
			continue // those that are left to others hide the ones after them
		case fired > 0:
			return 0, nil // more may be due by now
		case wait < 0:
			return pause, nil
		}
		return wait, nil
	}
}

// decide says what becomes of a timer that is due; not ok: it is left to others.
func (t *Timers) decide(d scripts.DueTimer, now time.Time) (f scripts.Firing, ok bool) {
	f = scripts.Firing{DueTimer: d, Verdict: scripts.TimerRefused}
	if !d.Finite {
		f.Reason = scripts.WhyInvalid(d.Score)
		return f, true
	}
	if !report.ValidTimer(d.Name) {
		f.Reason = reasonName
		return f, true
	}
	definition, _, ok := t.o.Timers.Match(d.Name)
	due := time.UnixMilli(d.Due)
	if !ok {
		f.Verdict, f.Reason = scripts.TimerPaused, report.WhyUndefined(d.Name)
		return f, !t.leaves(now.Sub(due))
	}
	f.Verdict = scripts.TimerFired
	if definition.Missed == report.MissedSkip && now.Sub(due) > definition.MissedAfter {
		f.Verdict, f.Reason = scripts.TimerSkipped, "it was missed"
	}
	switch {
	case definition.Schedule != nil:
		f.Next = nextScheduled(definition, now).UnixMilli()
	case !definition.Cron.None():
		f.Next = definition.Cron.Next(now).UnixMilli()
	case !definition.Every.None():
		next, wall := nextTime(definition.Every, due, wallOf(d), now)
		f.Next = next.UnixMilli()
		if wall != "" {
			f.Anchor = fmt.Sprintf("%d %s", f.Next, wall)
		}
	}
	return f, true
}

// leaves tells whether what is so late, and unknown here, is left to others: they
// are given the time also if no scheduler ran when it was due.
func (t *Timers) leaves(late time.Duration) bool {
	return min(late, time.Since(t.began)) <= leftFor
}

const reasonName = "not a timer's name: 1 to 200 printable ASCII characters without space"

// wallOf is the time from which the periods of a timer count, if its due time was set by a
// firing, on a day that does not have its time of day or in a month that does not have its day.
func wallOf(d scripts.DueTimer) string {
	due, wall, _ := strings.Cut(d.Anchor, " ")
	if due != strconv.FormatInt(d.Due, 10) {
		return "" // another time was set since
	}
	return wall
}
