package scheduler

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// findEvery is how often all timers are read to find schedules that Redis has and no report: after a loss of its
// memory, the snapshot can have some that are removed.
const findEvery = 10 * time.Minute

// schedules sets the timers of the schedules that this process has, and removes others.
//
// Every process announces its schedules of every report. The newest ones that a running process has are those of
// the report. So while versions are rolled, old processes do not undo what new ones have set; when the new ones
// are gone, the schedules of the old ones return.
type schedules struct {
	scripts *scripts.Scripts
	ours    map[string]report.Timers // by report
	reports map[string]*report.Report
	timeout time.Duration // after which a process that announces nothing has ended
	since   time.Time     // the first announcement of this process
	last    time.Time     // the last announcement; zero after a failure
	passed  time.Time     // the last announcement that set timers
	found   time.Time     // when all timers were read
}

func newSchedules(o TimerOptions) *schedules {
	return &schedules{
		scripts: o.Scripts, ours: o.Timers.Schedules(), reports: o.Reports, timeout: scripts.DefinitionTimeout,
	}
}

// once announces the schedules, and sets and removes timers. The first announcement, also after an outage, changes
// no timer: other processes may not have announced newer schedules yet.
func (s *schedules) once(ctx context.Context) (changed int, err error) {
	now, err := s.scripts.Definitions.Now(ctx)
	if err != nil {
		return 0, err
	}
	if s.since.IsZero() {
		s.since = now
	}
	decide := now.Sub(s.last) < s.timeout
	s.last = time.Time{}
	known, err := s.scripts.Schedules.Reports(ctx)
	if err != nil {
		return 0, err
	}
	found := map[string][]string{}
	if decide && now.Sub(s.found) > findEvery {
		if found, err = s.scripts.Schedules.Find(ctx); err != nil {
			return 0, err
		}
		s.found = now
	}
	names := slices.Concat(known, slices.Collect(maps.Keys(found)), slices.Collect(maps.Keys(s.ours)))
	slices.Sort(names)
	var all []scripts.ReportSchedules
	for _, name := range slices.Compact(names) {
		all = append(all, s.of(name, found[name], now))
	}
	changed, err = s.scripts.Schedules.Announce(ctx, all, s.since, s.timeout, decide)
	if err == nil {
		s.last = now
	}
	if err == nil && decide {
		s.passed = now
	}
	return changed, err
}

// of returns the schedules of a report. A timer that is missing was removed since the last announcement, such as by
// a loss of memory: a time that has passed since then is not lost.
func (s *schedules) of(name string, found []string, now time.Time) scripts.ReportSchedules {
	r := scripts.ReportSchedules{
		Report: name, Has: s.reports[name] != nil, Timers: map[string]time.Time{}, Found: found,
	}
	after := now
	if !s.passed.IsZero() {
		after = s.passed
	}
	for _, t := range s.ours[name] {
		r.Timers[t.Key.String()] = nextScheduled(t, after)
	}
	return r
}

// nextScheduled returns the first time of a schedule after now. Periods count from a fixed time, so every process
// computes the same.
func nextScheduled(t *report.Timer, now time.Time) time.Time {
	if !t.Cron.None() {
		return t.Cron.Next(now)
	}
	next, _ := nextTime(t.Every, t.Every.Anchor(), "", now)
	return next
}
