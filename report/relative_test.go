package report

import (
	"testing"
	"time"
)

// friday is when the tests bind parameters.
var friday = time.Date(2024, 3, 1, 9, 30, 15, 500_000_000, time.UTC)

func TestRelative(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		now, zone, text, date, datetime string // date "": only a datetime can have the text
	}{
		{"2024-03-01T09:30:15Z", "", "today", "2024-03-01", "2024-03-01T00:00:00Z"},
		{"2024-03-01T09:30:15Z", "UTC", "today-0d", "2024-03-01", "2024-03-01T00:00:00Z"},
		{"2024-03-01T09:30:15Z", "", "today-1d", "2024-02-29", "2024-02-29T00:00:00Z"}, // a leap year
		{"2023-03-01T09:30:15Z", "", "today-1d", "2023-02-28", "2023-02-28T00:00:00Z"},
		{"2100-03-01T09:30:15Z", "", "today-1d", "2100-02-28", "2100-02-28T00:00:00Z"},
		{"2024-02-29T09:30:15Z", "", "today-366d", "2023-02-28", "2023-02-28T00:00:00Z"},
		{"2024-03-01T09:30:15Z", "", "today-30d", "2024-01-31", "2024-01-31T00:00:00Z"},
		{"2024-12-31T09:30:15Z", "", "today+1d", "2025-01-01", "2025-01-01T00:00:00Z"},
		{"2024-03-01T09:30:15Z", "", "today+1w", "2024-03-08", "2024-03-08T00:00:00Z"},
		{"2024-03-01T09:30:15Z", "", "week", "2024-02-26", "2024-02-26T00:00:00Z"},
		{"2024-03-04T00:00:00Z", "", "week", "2024-03-04", "2024-03-04T00:00:00Z"}, // a Monday
		{"2024-03-03T23:59:59Z", "", "week", "2024-02-26", "2024-02-26T00:00:00Z"}, // a Sunday
		{"2025-01-01T00:00:00Z", "", "week-1", "2024-12-23", "2024-12-23T00:00:00Z"},
		{"2024-03-31T23:59:59Z", "", "month", "2024-03-01", "2024-03-01T00:00:00Z"},
		{"2024-03-31T23:59:59Z", "", "month-1", "2024-02-01", "2024-02-01T00:00:00Z"}, // February has no 31st
		{"2024-01-31T00:00:00Z", "", "month-1", "2023-12-01", "2023-12-01T00:00:00Z"},
		{"2024-05-31T00:00:00Z", "", "month-27", "2022-02-01", "2022-02-01T00:00:00Z"},
		{"2024-03-31T00:00:00Z", "", "quarter", "2024-01-01", "2024-01-01T00:00:00Z"},
		{"2024-04-01T00:00:00Z", "", "quarter", "2024-04-01", "2024-04-01T00:00:00Z"},
		{"2024-12-31T00:00:00Z", "", "quarter-1", "2024-07-01", "2024-07-01T00:00:00Z"},
		{"2024-02-29T00:00:00Z", "", "quarter-1", "2023-10-01", "2023-10-01T00:00:00Z"},
		{"2024-02-29T00:00:00Z", "", "year", "2024-01-01", "2024-01-01T00:00:00Z"},
		{"2024-02-29T00:00:00Z", "", "year-1", "2023-01-01", "2023-01-01T00:00:00Z"},
		{"2024-02-29T00:00:00Z", "", "year-999", "1025-01-01", "1025-01-01T00:00:00Z"},
		{"2024-03-01T09:30:15.5Z", "", "now", "", "2024-03-01T09:30:15Z"},
		{"2024-03-01T09:30:15.5Z", "", "now-90m", "", "2024-03-01T08:00:15Z"},
		{"2024-03-01T05:30:15Z", "", "now-6h", "", "2024-02-29T23:30:15Z"},
		{"2024-12-31T23:30:00Z", "", "now+1h", "", "2025-01-01T00:30:00Z"},

		// The day is another one in the zone, and so are the week, the month and the year.
		{"2023-12-31T23:00:00Z", "Europe/Berlin", "today", "2024-01-01", "2023-12-31T23:00:00Z"},
		{"2023-12-31T22:59:59Z", "Europe/Berlin", "today", "2023-12-31", "2023-12-30T23:00:00Z"},
		{"2023-12-31T23:00:00Z", "Europe/Berlin", "week", "2024-01-01", "2023-12-31T23:00:00Z"},
		{"2023-12-31T23:00:00Z", "Europe/Berlin", "year", "2024-01-01", "2023-12-31T23:00:00Z"},
		{"2024-01-01T02:00:00Z", "America/New_York", "year", "2023-01-01", "2023-01-01T05:00:00Z"},
		// Days of 23 and 25 hours: midnight, not 24 hours ago.
		{"2024-03-31T21:30:00Z", "Europe/Berlin", "today", "2024-03-31", "2024-03-30T23:00:00Z"},
		{"2024-03-31T22:30:00Z", "Europe/Berlin", "today-1d", "2024-03-31", "2024-03-30T23:00:00Z"},
		{"2024-10-27T22:30:00Z", "Europe/Berlin", "today", "2024-10-27", "2024-10-26T22:00:00Z"},
		{"2024-10-27T23:30:00Z", "Europe/Berlin", "today-1d", "2024-10-27", "2024-10-26T22:00:00Z"},
		{"2024-11-15T12:00:00Z", "Europe/Berlin", "month-1", "2024-10-01", "2024-09-30T22:00:00Z"},
		{"2024-03-31T01:30:00Z", "Europe/Berlin", "now-1h", "", "2024-03-31T00:30:00Z"},
		// A day that begins at 01:00, one whose midnight comes twice, and one that the zone skipped.
		{"2018-11-04T15:00:00Z", "America/Sao_Paulo", "today", "2018-11-04", "2018-11-04T03:00:00Z"},
		{"2023-11-05T15:00:00Z", "America/Havana", "today", "2023-11-05", "2023-11-05T04:00:00Z"},
		{"2011-12-31T15:00:00Z", "Pacific/Apia", "today-1d", "2011-12-31", "2011-12-30T10:00:00Z"},
		{"2011-12-31T15:00:00Z", "Pacific/Apia", "today-2d", "2011-12-30", "2011-12-30T10:00:00Z"},
	} {
		t.Run(c.now+" "+c.zone+" "+c.text, func(t *testing.T) {
			t.Parallel()
			now, err := time.Parse(time.RFC3339, c.now)
			if err != nil {
				t.Fatal(err)
			}
			for of, want := range map[ParameterType]string{ParamDate: c.date, ParamDatetime: c.datetime} {
				r := &Report{TimeZone: c.zone, Parameters: []Parameter{{Name: "p", Type: of}}}
				got, err := r.Canonical([]byte(`{"p": "`+c.text+`"}`), now)
				if want == "" && err == nil || want != "" && string(got) != `{"p":"`+want+`"}` {
					t.Errorf("%s: %s (%v), want %q", of, got, err, want)
				}
			}
		})
	}
}

// TestRelativeForm: a text that is nearly relative is not a date.
func TestRelativeForm(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "Today", " today", "today ", "today-", "today-30", "today-1m", "today-1h", "today-123456d", "today-1234w",
		"today+1d+1d", "tomorrow", "week-1w", "week+1", "month+1", "month-1000", "quarter-x", "year--1", "year-1.5",
		"now-1", "now-1d", "now-1s", "now-123456m", "today\n",
	} {
		if isRelative(text, ParamDate) || isRelative(text, ParamDatetime) {
			t.Errorf("%q is relative", text)
		}
	}
	if isRelative("now", ParamDate) {
		t.Error("now is a relative date, not only a datetime")
	}
}

// TestCheckKeepsRelative: what a record stores is relative, so that the trigger computes it.
func TestCheckKeepsRelative(t *testing.T) {
	t.Parallel()
	r := &Report{Parameters: []Parameter{
		{Name: "d", Type: ParamDate, Minimum: "2024-02-01"},
		{Name: "l", Type: ParamDatetime, List: true},
	}}
	given, err := ParameterFields([]byte(`{"d": "month-1", "l": ["now-6h", "2024-01-01 00:00:00"]}`))
	if err != nil {
		t.Fatal(err)
	}
	values, wrong := r.Check(given, friday)
	if got := string(EncodeBound(values)); got != `{"d":"month-1","l":["now-6h","2024-01-01 00:00:00"]}` || wrong != nil {
		t.Errorf("%s (%v)", got, wrong)
	}
	got, err := r.Canonical(EncodeBound(values), friday)
	const want = `{"d":"2024-02-01","l":["2024-03-01T03:30:15Z","2024-01-01 00:00:00"]}`
	if string(got) != want || err != nil {
		t.Errorf("%s (%v)", got, err)
	}
	if again, err := r.Canonical(got, friday.AddDate(1, 0, 0)); string(again) != want || err != nil {
		t.Errorf("a year later %s (%v)", again, err)
	}
	if _, wrong := r.Check(given, friday.AddDate(0, -1, 0)); len(wrong) != 1 || wrong[0].Name != "d" {
		t.Errorf("a month before the minimum: %v", wrong)
	}
}

// TestRelativeDefault: a default is computed, too.
func TestRelativeDefault(t *testing.T) {
	t.Parallel()
	r := &Report{TimeZone: "Pacific/Auckland", Parameters: []Parameter{
		{Name: "since", Type: ParamDate, Default: new(`"today-1d"`)},
		{Name: "days", Type: ParamDate, List: true, Default: new(`["today","2024-01-01"]`)},
	}}
	got, err := r.Canonical(nil, friday.Add(3*time.Hour))
	if want := `{"days":["2024-03-02","2024-01-01"],"since":"2024-03-01"}`; string(got) != want || err != nil {
		t.Errorf("%s (%v), want %s", got, err, want)
	}
}

// TestDay: a day is that of the zone.
func TestDay(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2024-02-29": "2024-02-29", "today": "2024-03-02", "today-2d": "2024-02-29", "month-1": "2024-02-01",
		"2023-02-29": "", "now": "", "": "", "yesterday": "", "2024-2-1": "",
	} {
		day, wrong := Day(text, friday.Add(3*time.Hour), "Pacific/Auckland")
		if want == "" && wrong == nil || want != "" && (wrong != nil || !day.Equal(date(t, want))) {
			t.Errorf("%q: %v %v", text, day, wrong)
		}
	}
}

func date(t *testing.T, text string) time.Time {
	t.Helper()
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		t.Fatal(err)
	}
	return day
}
