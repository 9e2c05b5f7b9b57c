package report

import (
	"time"

	// Servers may lack zone files, and a zone must be the same on every machine.
	_ "time/tzdata"
)

// AsWall returns the local time of t, as a time in UTC.
func AsWall(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// OnDay returns the time at which the local time of a zone is wall. It returns the first time
// of a repeated local time, and moves a skipped one forward by the change of the clocks.
func OnDay(wall time.Time, zone *time.Location) time.Time {
	_, before := wall.Add(-24 * time.Hour).In(zone).Zone()
	_, after := wall.Add(24 * time.Hour).In(zone).Zone()
	first := wall.Add(-time.Duration(before) * time.Second).In(zone)
	if AsWall(first).Equal(wall) {
		return first
	}
	if second := wall.Add(-time.Duration(after) * time.Second).In(zone); AsWall(second).Equal(wall) {
		return second
	}
	return first
}

// Reaches returns the first time at which the local time of a zone is wall or later: the first
// time of a repeated local time, and for a skipped one the moment at which the clocks go
// forward.
func Reaches(wall time.Time, zone *time.Location) time.Time {
	at := OnDay(wall, zone)
	if !AsWall(at).Equal(wall) {
		at, _ = at.ZoneBounds()
	}
	return at
}
