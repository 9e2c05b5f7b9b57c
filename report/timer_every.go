package report

import (
	"fmt"
	"time"

	// Servers have no zone files: a configuration that is proved on one machine is
	// to mean the same on each.
	_ "time/tzdata"
)

// Every says when a timer fires again.
type Every struct {
	Exact time.Duration  // always this long
	Days  int            // or so many calendar days in Zone, at the same time of day
	Zone  *time.Location // nil: UTC
}

// None tells whether the timer does not repeat.
func (e Every) None() bool { return e.Exact == 0 && e.Days == 0 }

// wallForm is how the time of day is kept that a timer should have.
const wallForm = "2006-01-02T15:04:05.000"

// Next returns the first time after now that is a whole number of periods after
// due. The anchor is due, so that no lateness adds up.
//
// Calendar days keep the time of day. One that does not exist on a day, because
// the clocks were put forward, comes later by as much; one that exists twice is
// the first. Where due was such a time that came later, wall is the one that it
// should have had, as Next returned it then; otherwise it is empty.
func (e Every) Next(due time.Time, wall string, now time.Time) (next time.Time, nextWall string) {
	if e.Days == 0 {
		periods := max(0, now.Sub(due)/e.Exact) + 1
		return due.Add(periods * e.Exact), ""
	}
	zone := e.Zone
	if zone == nil {
		zone = time.UTC
	}
	should := asWall(due.In(zone))
	if wall != "" {
		if t, err := time.Parse(wallForm, wall); err == nil {
			should = t
		}
	}
	// A day has 23 hours at least: begin before the day that is looked for.
	period := time.Duration(e.Days) * 24 * time.Hour
	should = should.AddDate(0, 0, e.Days*int(max(0, asWall(now.In(zone)).Sub(should)/period-1)))
	for {
		should = should.AddDate(0, 0, e.Days)
		if next = OnDay(should, zone); next.After(now) && next.After(due) {
			break
		}
	}
	if !asWall(next.In(zone)).Equal(should) {
		nextWall = should.Format(wallForm)
	}
	return next, nextWall
}

// asWall is what the clock on the wall shows, as if it were UTC.
func asWall(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// OnDay is when the clock on the wall shows this. Of two such times it is the
// first; where there is none, the one before the change tells how much later.
func OnDay(wall time.Time, zone *time.Location) time.Time {
	_, before := wall.Add(-24 * time.Hour).In(zone).Zone()
	_, after := wall.Add(24 * time.Hour).In(zone).Zone()
	first := wall.Add(-time.Duration(before) * time.Second).In(zone)
	if asWall(first).Equal(wall) {
		return first
	}
	if second := wall.Add(-time.Duration(after) * time.Second).In(zone); asWall(second).Equal(wall) {
		return second
	}
	return first
}

// String gives the period as it is written in the configuration.
func (e Every) String() string {
	switch {
	case e.None():
		return ""
	case e.Days > 0 && e.Days%7 == 0:
		return fmt.Sprintf("%dw", e.Days/7)
	case e.Days > 0:
		return fmt.Sprintf("%dd", e.Days)
	}
	return ShortDuration(e.Exact)
}
