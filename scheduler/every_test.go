package scheduler

import (
	"testing"
	"time"

	"github.com/fanfold/fanfold/report"
)

func berlin(t *testing.T) *time.Location { return zoneOf(t, "Europe/Berlin") }

func zoneOf(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// TestEveryKeepsItsAnchor: lateness never adds up.
func TestEveryKeepsItsAnchor(t *testing.T) {
	t.Parallel()
	first := time.Date(2024, 1, 1, 9, 0, 0, 123e6, time.UTC)
	for _, every := range []report.Every{{Exact: 24 * time.Hour}, {Days: 1}, {Days: 7, Zone: time.UTC}, {Exact: 90 * time.Minute}} {
		period := every.Exact + time.Duration(every.Days)*24*time.Hour
		due := first
		for step := range 1000 {
			late := time.Duration(step%7) * time.Second
			next, wall := nextTime(every, due, "", due.Add(late))
			if want := first.Add(time.Duration(step+1) * period); !next.Equal(want) || wall != "" {
				t.Fatalf("%v, step %d: %v (%q), want %v", every, step, next, wall, want)
			}
			due = next
		}
	}
}

// TestEveryOverDaylightSaving keeps nine o'clock, and half past two as far as it
// exists.
func TestEveryOverDaylightSaving(t *testing.T) {
	t.Parallel()
	zone := berlin(t)
	daily := report.Every{Days: 1, Zone: zone}
	for _, c := range []struct {
		name, first string
		want        []string
	}{
		{"spring, nine o'clock", "2024-03-30T09:00:00+01:00", []string{"2024-03-31T09:00:00+02:00", "2024-04-01T09:00:00+02:00"}},
		{"autumn, nine o'clock", "2024-10-26T09:00:00+02:00", []string{"2024-10-27T09:00:00+01:00", "2024-10-28T09:00:00+01:00"}},
		{"a time that does not exist comes later, on that day only", "2024-03-30T02:30:00+01:00", []string{"2024-03-31T03:30:00+02:00", "2024-04-01T02:30:00+02:00"}},
		{"a time that exists twice is the first", "2024-10-26T02:30:00+02:00", []string{"2024-10-27T02:30:00+02:00", "2024-10-28T02:30:00+01:00"}},
		{"midnight", "2024-10-26T00:00:00+02:00", []string{"2024-10-27T00:00:00+02:00", "2024-10-28T00:00:00+01:00"}},
		{"end of the gap", "2024-03-30T03:00:00+01:00", []string{"2024-03-31T03:00:00+02:00", "2024-04-01T03:00:00+02:00"}},
	} {
		due, err := time.Parse(time.RFC3339, c.first)
		if err != nil {
			t.Fatal(err)
		}
		wall := ""
		for _, want := range c.want {
			due, wall = nextTime(daily, due, wall, due)
			if got := due.In(zone).Format(time.RFC3339); got != want {
				t.Errorf("%s: %s, want %s", c.name, got, want)
			}
		}
	}
}

// TestEveryOverThousandDays: every step over three years keeps the time of day.
func TestEveryOverThousandDays(t *testing.T) {
	t.Parallel()
	zone := berlin(t)
	for _, minute := range []int{0, 120, 150, 179, 180, 540} {
		due, wall := time.Date(2024, 1, 1, 0, minute, 0, 0, zone), ""
		for step := range 1000 {
			due, wall = nextTime(report.Every{Days: 1, Zone: zone}, due, wall, due)
			day := time.Date(2024, 1, 2+step, 0, 0, 0, 0, time.UTC)
			got := due.In(zone)
			if got.Day() != day.Day() || got.Month() != day.Month() {
				t.Fatalf("step %d is on %v", step, got)
			}
			if m := got.Hour()*60 + got.Minute(); m != minute && (wall == "" || m != minute+60) {
				t.Fatalf("step %d: minute %d of the day, not %d", step, m, minute)
			}
		}
	}
}

// TestEveryMonth keeps the day: where a month does not have it, its last one counts, and
// the months after it have the day again.
func TestEveryMonth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, zone, first string
		months            int
		want              []string
	}{
		{"the 31st", "Europe/Berlin", "2023-12-31T09:00:00+01:00", 1,
			[]string{"2024-01-31T09:00:00+01:00", "2024-02-29T09:00:00+01:00", "2024-03-31T09:00:00+02:00", "2024-04-30T09:00:00+02:00", "2024-05-31T09:00:00+02:00"}},
		{"the 30th", "America/New_York", "2025-01-30T09:00:00-05:00", 1,
			[]string{"2025-02-28T09:00:00-05:00", "2025-03-30T09:00:00-04:00", "2025-04-30T09:00:00-04:00"}},
		{"a leap day, each year", "UTC", "2024-02-29T12:00:00Z", 12,
			[]string{"2025-02-28T12:00:00Z", "2026-02-28T12:00:00Z", "2027-02-28T12:00:00Z", "2028-02-29T12:00:00Z"}},
		{"quarters", "UTC", "2024-08-31T00:00:00Z", 3, []string{"2024-11-30T00:00:00Z", "2025-02-28T00:00:00Z", "2025-05-31T00:00:00Z"}},
		{"the 31st without half past two", "Europe/Berlin", "2024-01-31T02:30:00+01:00", 1,
			[]string{"2024-02-29T02:30:00+01:00", "2024-03-31T03:30:00+02:00", "2024-04-30T02:30:00+02:00", "2024-05-31T02:30:00+02:00"}},
		{"twice half past one", "America/New_York", "2024-10-03T01:30:00-04:00", 1, []string{"2024-11-03T01:30:00-04:00", "2024-12-03T01:30:00-05:00"}},
	} {
		zone := zoneOf(t, c.zone)
		due, err := time.Parse(time.RFC3339, c.first)
		if err != nil {
			t.Fatal(err)
		}
		wall := ""
		for _, want := range c.want {
			due, wall = nextTime(report.Every{Months: c.months, Zone: zone}, due, wall, due.Add(time.Second))
			if got := due.In(zone).Format(time.RFC3339); got != want {
				t.Errorf("%s: %s, want %s", c.name, got, want)
			}
		}
	}
}

// TestEveryMonthAfterYears: what is missed in between is skipped, and the day stays.
func TestEveryMonthAfterYears(t *testing.T) {
	t.Parallel()
	zone := berlin(t)
	first := time.Date(2004, 1, 31, 9, 0, 0, 0, zone)
	due, wall := nextTime(report.Every{Months: 1, Zone: zone}, first, "", time.Date(2024, 2, 29, 8, 0, 0, 0, zone))
	if want := time.Date(2024, 2, 29, 9, 0, 0, 0, zone); !due.Equal(want) || wall != "2004-01-31T09:00:00.000" {
		t.Errorf("%v, %s", due, wall)
	}
	due, wall = nextTime(report.Every{Months: 1, Zone: zone}, due, wall, time.Date(2026, 7, 31, 8, 0, 0, 0, zone))
	if want := time.Date(2026, 7, 31, 9, 0, 0, 0, zone); !due.Equal(want) || wall != "" {
		t.Errorf("%v, %s", due, wall)
	}
}

// TestEveryAfterALongTime skips what was missed, at once.
func TestEveryAfterALongTime(t *testing.T) {
	t.Parallel()
	zone := berlin(t)
	first := time.Date(2004, 1, 1, 9, 0, 0, 0, zone)
	for _, now := range []time.Time{
		first.Add(-time.Hour), first, first.Add(time.Millisecond), time.Date(2024, 7, 1, 8, 59, 59, 0, zone),
		time.Date(2024, 7, 1, 9, 0, 0, 0, zone), time.Date(2024, 3, 31, 9, 0, 0, 0, zone), time.Date(2024, 10, 27, 8, 0, 0, 0, zone),
	} {
		for _, every := range []report.Every{{Days: 1, Zone: zone}, {Days: 14, Zone: zone}, {Months: 1, Zone: zone}, {Exact: time.Second}} {
			next, _ := nextTime(every, first, "", now)
			before := next.Add(-every.Exact).In(zone).AddDate(0, -every.Months, -every.Days)
			if !next.After(now) || !next.After(first) || before.After(now) && !before.Equal(first) && before.After(first) {
				t.Errorf("%v after %v: %v", every, now, next)
			}
			if every.Calendar() && next.In(zone).Format("15:04:05") != "09:00:00" {
				t.Errorf("%v after %v: %v", every, now, next.In(zone))
			}
		}
	}
}
