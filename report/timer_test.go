package report

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPatternMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		want          map[string]string // nil: no match
	}{
		{"send_message-{user}-{type}", "send_message-42-welcome", map[string]string{"user": "42", "type": "welcome"}},
		{"send_message-{user}-{type}", "send_message-42-welcome-back", map[string]string{"user": "42", "type": "welcome-back"}},
		{"send_message-{user}-{type}", "send_message-42", nil},
		{"send_message-{user}-{type}", "send_message--welcome", nil},
		{"send_message-{user}-{type}", "xsend_message-42-welcome", nil},
		{"weekly", "weekly", map[string]string{}},
		{"weekly", "weekly2", nil},
		{"a.c-{x}", "abc-1", nil},
		{"{x}-end", "a-b-end", map[string]string{"x": "a-b"}},
		{"{a}:{b}", "1:2:3", map[string]string{"a": "1:2", "b": "3"}},
	} {
		p, err := ParsePattern(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := p.Match(c.name)
		if diff := cmp.Diff(c.want, got); diff != "" || ok != (c.want != nil) {
			t.Errorf("%s, %s: %v %s", c.pattern, c.name, ok, diff)
		}
	}
	for _, bad := range []string{"", "a{x}{y}", "{x}-{x}", "a b{x}", "a{", "a}", "a{1}", "ä{x}", strings.Repeat("a", 201)} {
		if _, err := ParsePattern(bad); err == nil {
			t.Errorf("%q is a pattern", bad)
		}
	}
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func cron(t *testing.T, expression string, z *time.Location) Cron {
	t.Helper()
	c, wrong := ParseCron(expression)
	if wrong != nil {
		t.Fatalf("%s: %+v", expression, wrong)
	}
	c.Zone = z
	return c
}

// TestCronOverDaylightSaving: a time that does not exist fires when the clocks are put
// forward, and one that exists twice fires once.
func TestCronOverDaylightSaving(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, zone, expression, after string
		want                          []string
	}{
		{"Berlin, spring, half past two", "Europe/Berlin", "30 2 * * *", "2024-03-30T00:00:00+01:00",
			[]string{"2024-03-30T02:30:00+01:00", "2024-03-31T03:00:00+02:00", "2024-04-01T02:30:00+02:00"}},
		{"Berlin, spring, twice in the hour that does not exist", "Europe/Berlin", "15,45 2 * * *", "2024-03-31T00:00:00+01:00",
			[]string{"2024-03-31T03:00:00+02:00", "2024-04-01T02:15:00+02:00"}},
		{"Berlin, spring, each half hour", "Europe/Berlin", "*/30 * * * *", "2024-03-31T01:00:00+01:00",
			[]string{"2024-03-31T01:30:00+01:00", "2024-03-31T03:00:00+02:00", "2024-03-31T03:30:00+02:00"}},
		{"Berlin, autumn, half past two", "Europe/Berlin", "30 2 * * *", "2024-10-26T12:00:00+02:00",
			[]string{"2024-10-27T02:30:00+02:00", "2024-10-28T02:30:00+01:00"}},
		{"Berlin, autumn, set between the two", "Europe/Berlin", "30 2 * * *", "2024-10-27T02:10:00+01:00",
			[]string{"2024-10-28T02:30:00+01:00"}},
		{"Berlin, autumn, each half hour", "Europe/Berlin", "*/30 * * * *", "2024-10-27T01:30:00+02:00",
			[]string{"2024-10-27T02:00:00+02:00", "2024-10-27T02:30:00+02:00", "2024-10-27T03:00:00+01:00"}},
		{"New York, spring, half past two", "America/New_York", "30 2 * * *", "2024-03-09T12:00:00-05:00",
			[]string{"2024-03-10T03:00:00-04:00", "2024-03-11T02:30:00-04:00"}},
		{"New York, autumn, half past one", "America/New_York", "30 1 * * *", "2024-11-02T12:00:00-04:00",
			[]string{"2024-11-03T01:30:00-04:00", "2024-11-04T01:30:00-05:00"}},
		{"New York, working days at nine", "America/New_York", "0 9 * * mon-fri", "2024-03-08T10:00:00-05:00",
			[]string{"2024-03-11T09:00:00-04:00", "2024-03-12T09:00:00-04:00"}},
		{"a day without midnight", "America/Santiago", "0 0 * * *", "2024-09-07T12:00:00-04:00",
			[]string{"2024-09-08T01:00:00-03:00", "2024-09-09T00:00:00-03:00"}},
		{"a day that does not exist", "Pacific/Apia", "0 9 30 12 *", "2011-12-01T00:00:00-10:00",
			[]string{"2011-12-31T00:00:00+14:00", "2012-12-30T09:00:00+14:00"}},
		{"the last day of the month", "Europe/Berlin", "0 9 L * *", "2024-01-31T09:00:00+01:00",
			[]string{"2024-02-29T09:00:00+01:00", "2024-03-31T09:00:00+02:00", "2024-04-30T09:00:00+02:00"}},
		{"the last Friday, and the working day nearest to the 15th", "UTC", "0 0 15W * friL", "2024-06-01T00:00:00Z",
			[]string{"2024-06-14T00:00:00Z", "2024-06-28T00:00:00Z", "2024-07-15T00:00:00Z", "2024-07-26T00:00:00Z"}},
		{"leap days", "UTC", "0 0 29 feb *", "2095-03-01T00:00:00Z", []string{"2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z"}},
		{"the first Monday, and Sunday as 7", "UTC", "0 0 * * mon#1,7", "2024-06-01T00:00:00.5Z",
			[]string{"2024-06-02T00:00:00Z", "2024-06-03T00:00:00Z", "2024-06-09T00:00:00Z"}},
	} {
		at, err := time.Parse(time.RFC3339Nano, c.after)
		if err != nil {
			t.Fatal(err)
		}
		expression := cron(t, c.expression, zone(t, c.zone))
		for _, want := range c.want {
			at = expression.Next(at)
			if got := at.In(expression.Zone).Format(time.RFC3339); got != want {
				t.Errorf("%s: %s, want %s", c.name, got, want)
			}
		}
	}
}

// TestCronSkipsAndDoublesNothing compares with a clock that is watched every minute around
// the changes of a year: whatever time it comes to for the first time, or jumps over, is due
// then.
func TestCronSkipsAndDoublesNothing(t *testing.T) {
	t.Parallel()
	for name, changes := range map[string][]time.Time{
		"Europe/Berlin":    {time.Date(2024, 3, 31, 1, 0, 0, 0, time.UTC), time.Date(2024, 10, 27, 1, 0, 0, 0, time.UTC)},
		"America/New_York": {time.Date(2024, 3, 10, 7, 0, 0, 0, time.UTC), time.Date(2024, 11, 3, 6, 0, 0, 0, time.UTC)},
	} {
		z := zone(t, name)
		for _, change := range changes {
			for text, due := range map[string]func(wall time.Time) bool{
				"* * * * *":      func(time.Time) bool { return true },
				"*/7 * * * *":    func(w time.Time) bool { return w.Minute()%7 == 0 },
				"20 1-3 * * *":   func(w time.Time) bool { return w.Minute() == 20 && w.Hour() >= 1 && w.Hour() <= 3 },
				"0,59 */2 * * 0": func(w time.Time) bool { return w.Minute()%59 == 0 && w.Hour()%2 == 0 && w.Weekday() == 0 },
				"30 2 * * sat,1": func(w time.Time) bool { return w.Minute() == 30 && w.Hour() == 2 && w.Weekday()%5 == 1 },
				"0 3 * 3-11 *":   func(w time.Time) bool { return w.Minute() == 0 && w.Hour() == 3 },
				"0 0 1,3 nov sun": func(w time.Time) bool {
					return w.Minute() == 0 && w.Hour() == 0 && w.Month() == 11 && (w.Day() == 1 || w.Day() == 3 || w.Weekday() == 0)
				},
			} {
				begin, end := change.Add(-30*time.Hour), change.Add(30*time.Hour)
				var want, got []time.Time
				latest := AsWall(begin.In(z))
				for at := begin.Add(time.Minute); at.Before(end); at = at.Add(time.Minute) {
					now := false
					for ; latest.Before(AsWall(at.In(z))); latest = latest.Add(time.Minute) {
						now = now || due(latest.Add(time.Minute))
					}
					if now {
						want = append(want, at)
					}
				}
				c := cron(t, text, z)
				for at := c.Next(begin); at.Before(end); at = c.Next(at) {
					got = append(got, at.UTC())
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s in %s: %s", text, name, diff)
				}
			}
		}
	}
}
