package scheduler

import (
	"time"

	"github.com/fanfold/fanfold/report"
)

// wallForm is how the time of day is kept that a timer should have.
const wallForm = "2006-01-02T15:04:05.000"

// nextTime returns the first time after now that is a whole number of periods after
// due. The anchor is due, so that no lateness adds up.
//
// Calendar days keep the time of day. One that does not exist on a day, because
// the clocks were put forward, comes later by as much; one that exists twice is
// the first. Where due was such a time that came later, wall is the one that it
// should have had, as nextTime returned it then; otherwise it is empty.
func nextTime(e report.Every, due time.Time, wall string, now time.Time) (next time.Time, nextWall string) {
	if e.Days == 0 {
		periods := max(0, now.Sub(due)/e.Exact) + 1
		return due.Add(periods * e.Exact), ""
	}
	zone := e.Zone
	if zone == nil {
		zone = time.UTC
	}
	should := report.AsWall(due.In(zone))
	if wall != "" {
		if t, err := time.Parse(wallForm, wall); err == nil {
			should = t
		}
	}
	// A day has 23 hours at least: begin before the day that is looked for.
	period := time.Duration(e.Days) * 24 * time.Hour
	should = should.AddDate(0, 0, e.Days*int(max(0, report.AsWall(now.In(zone)).Sub(should)/period-1)))
	for {
		should = should.AddDate(0, 0, e.Days)
		if next = report.OnDay(should, zone); next.After(now) && next.After(due) {
			break
		}
	}
	if !report.AsWall(next.In(zone)).Equal(should) {
		nextWall = should.Format(wallForm)
	}
	return next, nextWall
}
