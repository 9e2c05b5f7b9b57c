package report

import (
	"time"

	// Servers have no zone files, and a zone is to mean the same on every machine.
	_ "time/tzdata"
)

// AsWall returns what the clock on the wall shows at a time, as if it were UTC.
func AsWall(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// OnDay returns when the clock on the wall of a zone shows this. Of two such times it is
// the first; if there is none, it is later by as much as the clocks were put forward.
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

// Reaches returns when the clock on the wall of a zone first shows this or a later time: of
// two such times it is the first; if there is none, it is the moment at which the clocks are
// put forward.
func Reaches(wall time.Time, zone *time.Location) time.Time {
	at := OnDay(wall, zone)
	if !AsWall(at).Equal(wall) {
		at, _ = at.ZoneBounds()
	}
	return at
}
