package scheduler

import (
	"cmp"
	"time"

	"github.com/fanfold/fanfold/report"
)

// wallForm is the form of the time from which the periods of a timer count.
const wallForm = "2006-01-02T15:04:05.000"

// nextTime returns the first time after now that is a whole number of periods after
// due. The anchor is due, so that no lateness adds up.
//
// Calendar days and months keep the time of day. One that does not exist on a day, because
// the clocks were put forward, comes later by as much; one that exists twice is
// the first. Months keep the day, too: where a month does not have it, its last day counts.
// Where due was such a time, wall is the one that its periods count from, as nextTime
// returned it then; otherwise it is empty.
func nextTime(e report.Every, due time.Time, wall string, now time.Time) (next time.Time, nextWall string) {
	if !e.Calendar() {
		periods := max(0, now.Sub(due)/e.Exact) + 1
		return due.Add(periods * e.Exact), ""
	}
	zone := cmp.Or(e.Zone, time.UTC)
	anchor := report.AsWall(due.In(zone))
	if t, err := time.Parse(wallForm, wall); err == nil {
		anchor = t
	}
	// A month has at most 31 days: begin before the period that is looked for.
	days := int(report.AsWall(now.In(zone)).Sub(anchor) / (24 * time.Hour))
	for n := max(1, days/(e.Days+31*e.Months)-1); ; n++ {
		should := addMonths(anchor, n*e.Months).AddDate(0, 0, n*e.Days)
		next = report.OnDay(should, zone)
		if !next.After(now) || !next.After(due) {
			continue
		}
		if !report.AsWall(next.In(zone)).Equal(should) || e.Months > 0 && should.Day() != anchor.Day() {
			nextWall = anchor.Format(wallForm)
		}
		return next, nextWall
	}
}

// addMonths adds months and keeps the day, or takes the last day of a shorter month.
func addMonths(t time.Time, months int) time.Time {
	first := t.AddDate(0, months, 1-t.Day())
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), last)-1)
}
