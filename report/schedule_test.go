package report

import (
	"encoding/json"
	"errors"
	"testing"
	"time"
)

// TestSchedulesMatchTheirNamesOnly: a key that matches everything does not match the timer of a schedule, whether it
// has a definition or not.
func TestSchedulesMatchTheirNamesOnly(t *testing.T) {
	t.Parallel()
	all, _ := ParsePattern("{x}")
	every, _ := ParseEvery("1d")
	scheduled := &Timer{Name: "scheduled", Every: every}
	scheduled.Scheduled(Schedule{Report: &Report{Name: "orders"}, Parameters: json.RawMessage("{}")})
	timers := Timers{{Name: "all", Key: all}, scheduled}.Sorted()
	for name, want := range map[string]string{
		scheduled.Key.String(): "scheduled", "schedule:orders:000000-000000": "", "schedule:": "", "schedule": "all", "x": "all",
	} {
		got := ""
		if found, _, ok := timers.Match(name); ok {
			got = found.Name
		}
		if got != want {
			t.Errorf("%s: %q, not %q", name, got, want)
		}
	}
	for name, want := range map[string]string{scheduled.Key.String(): "orders", "schedule:orders": "", "orders": "", "schedule:a:b:c": "a"} {
		if got := ScheduledReport(name); got != want {
			t.Errorf("%s: %q, not %q", name, got, want)
		}
	}
}

// TestScheduleResolve: relative dates are those of the time zone of the report, and defaults are left out.
func TestScheduleResolve(t *testing.T) {
	t.Parallel()
	null, relative := "null", `"today-30d"`
	r := &Report{Name: "orders", TimeZone: "Pacific/Auckland", Parameters: []Parameter{
		{Name: "from", Type: ParamDate}, {Name: "at", Type: ParamDatetime, Default: &relative}, {Name: "days", Type: ParamDate, List: true, Default: &null},
		{Name: "n", Type: ParamInteger, Default: &null}, {Name: "to", Type: ParamDate, Default: &relative},
	}}
	now := time.Date(2024, 2, 29, 23, 0, 0, 0, time.UTC) // noon of the next day in Auckland
	for given, want := range map[string]string{
		`{"from":"today"}`:                                  `{"from":"2024-03-01"}`,
		`{"from":"2024-01-31","n":"7"}`:                     `{"from":"2024-01-31","n":7}`,
		`{"from":"month-1","n":null}`:                       `{"from":"2024-02-01","n":null}`,
		`{"from":"today","at":"today"}`:                     `{"at":"2024-02-29T11:00:00Z","from":"2024-03-01"}`,
		`{"from":"today","days":["today-1d","2024-01-31"]}`: `{"days":["2024-02-29","2024-01-31"],"from":"2024-03-01"}`,
	} {
		s := Schedule{Report: r, Parameters: json.RawMessage(given)}
		got, err := s.Resolve(now)
		if err != nil || string(got) != want {
			t.Errorf("%s: %s %v, not %s", given, got, err, want)
		}
		if again, err := r.Canonical(got, now.Add(time.Hour)); err != nil {
			t.Errorf("a record refuses %s: %s %v", got, again, err)
		}
	}
	if _, err := (&Schedule{Report: r, Parameters: json.RawMessage("{}")}).Resolve(now); !errors.Is(err, ErrParameters) {
		t.Error(err)
	}
}

// TestEveryAnchor: the periods of schedules count from a Monday at midnight, in their zone.
func TestEveryAnchor(t *testing.T) {
	t.Parallel()
	auckland, err := time.LoadLocation("Pacific/Auckland")
	if err != nil {
		t.Fatal(err)
	}
	for _, zone := range []*time.Location{nil, time.UTC, auckland} {
		at := Every{Days: 7, Zone: zone}.Anchor()
		if at.Weekday() != time.Monday || at.Day() != 1 || at.Hour() != 0 || zone != nil && at.Location().String() != zone.String() {
			t.Errorf("%v: %v", zone, at)
		}
	}
}
