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

// fireDue fires what is due, and returns how long it is until the next timer.
func (t *Timers) fireDue(ctx context.Context) (time.Duration, error) {
	t.mu.Lock()
	t.clock.tick(time.Now())
	t.mu.Unlock()
	due, now, wait, err := t.scripts.DueTimers(ctx, most)
	if err != nil {
		return 0, err
	}
	firings := make([]scripts.Firing, len(due))
	for i, d := range due {
		firings[i] = t.decide(d, now)
	}
	outcomes, err := t.scripts.Fire(ctx, firings)
	for i, outcome := range outcomes {
		if outcome == scripts.OK && firings[i].Verdict != scripts.TimerFired {
			t.log.Warn("timer does not fire", "timer", due[i].Name, "outcome", firings[i].Verdict, "why", firings[i].Reason)
		}
	}
	switch {
	case err != nil:
		return 0, err
	case len(due) > 0:
		return 0, nil // more may be due by now
	case wait < 0:
		return pause, nil
	}
	return wait, nil
}

// decide says what becomes of a timer that is due.
func (t *Timers) decide(d scripts.DueTimer, now time.Time) scripts.Firing {
	f := scripts.Firing{DueTimer: d, Verdict: scripts.TimerRefused}
	if !d.Finite {
		f.Reason = "its score is not a time"
		return f
	}
	if !scripts.ValidTimer(d.Name) {
		f.Reason = reasonName
		return f
	}
	definition, _, ok := t.o.Timers.Match(d.Name)
	if !ok {
		f.Reason = reasonNoMatch
		return f
	}
	due := time.UnixMilli(d.Due)
	f.Verdict = scripts.TimerFired
	if definition.Missed == report.MissedSkip && now.Sub(due) > definition.MissedAfter {
		f.Verdict, f.Reason = scripts.TimerSkipped, "it was missed"
	}
	if !definition.Every.None() {
		next, wall := definition.Every.Next(due, wallOf(d), now)
		f.Next = next.UnixMilli()
		if wall != "" {
			f.Anchor = fmt.Sprintf("%d %s", f.Next, wall)
		}
	}
	return f
}

const (
	reasonName    = "not a timer's name: 1 to 200 printable ASCII characters without space"
	reasonNoMatch = "no definition in timers matches this name"
)

// wallOf is the time of day that a timer should have had, if its due time was
// set by a firing, on a day that does not have that time.
func wallOf(d scripts.DueTimer) string {
	due, wall, _ := strings.Cut(d.Anchor, " ")
	if due != strconv.FormatInt(d.Due, 10) {
		return "" // somebody has set another time since
	}
	return wall
}
