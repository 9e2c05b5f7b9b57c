package backfill

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
)

// TestRange splits ranges: both ends belong to them, and a week or month that is not whole is cut.
func TestRange(t *testing.T) {
	t.Parallel()
	// It is the first of March in Berlin.
	now := time.Date(2024, 2, 29, 23, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		text string
		of   Unit
		want string
	}{
		{"2024-02-28..2024-03-01", Day, "2024-02-28 2024-02-29 2024-03-01"},
		{"2023-02-28..2023-03-01", Day, "2023-02-28 2023-03-01"},
		{"2024-02-29..2024-02-29", Day, "2024-02-29"},
		{"today-2d..yesterday", Day, "2024-02-28 2024-02-29"},
		{"yesterday..today", Day, "2024-02-29 2024-03-01"},
		// The days on which the clocks change in Berlin.
		{"2024-03-30..2024-04-01", Day, "2024-03-30 2024-03-31 2024-04-01"},
		{"2024-10-26..2024-10-28", Day, "2024-10-26 2024-10-27 2024-10-28"},
		// A Monday is the first day of a week, and a Sunday the last one.
		{"2024-02-26..2024-03-10", Week, "2024-02-26..2024-03-03 2024-03-04..2024-03-10"},
		{"2024-03-02..2024-03-12", Week, "2024-03-02..2024-03-03 2024-03-04..2024-03-10 2024-03-11..2024-03-12"},
		{"2024-03-03..2024-03-04", Week, "2024-03-03 2024-03-04"},
		{"2024-12-30..2025-01-05", Week, "2024-12-30..2025-01-05"},
		{"2024-03-25..2024-04-07", Week, "2024-03-25..2024-03-31 2024-04-01..2024-04-07"},
		{"2024-01-31..2024-03-01", Month, "2024-01-31 2024-02-01..2024-02-29 2024-03-01"},
		{"2023-12-15..2024-01-31", Month, "2023-12-15..2023-12-31 2024-01-01..2024-01-31"},
		{"month-1..yesterday", Month, "2024-02-01..2024-02-29"},
		{"year..2024-03-31", Month, "2024-01-01..2024-01-31 2024-02-01..2024-02-29 2024-03-01..2024-03-31"},
	} {
		periods, err := Range(c.text, c.of, now, "Europe/Berlin")
		var got []string
		for _, p := range periods {
			got = append(got, p.String())
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s of %s: %q %v, not %s", c.of, c.text, got, err, c.want)
		}
	}
	if periods, err := Range("2024-01-01..2024-12-31", Day, now, ""); err != nil || len(periods) != 366 {
		t.Errorf("a leap year has %d days: %v", len(periods), err)
	}
	if periods, err := Range("1990-01-01..2017-05-18", Day, now, ""); err != nil || len(periods) != maxPeriods {
		t.Errorf("%d days: %v", len(periods), err)
	}
	for text, part := range map[string]string{
		"2024-01-01": "is not a range", "": "is not a range", "..": `is not a date`, "2024-01-31..2024-01-01": "ends before it begins",
		"2023-02-29..2023-03-01": "there is no such day", "now..today": "now is a time", "today-1..today": "has no unit",
		"1990-01-01..2017-05-19": "more than 10000 periods", "2024-01-01..2024-01-02..2024-01-03": "not a date",
	} {
		if _, err := Range(text, Day, now, ""); !errors.Is(err, fault.Input) || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v, not %s", text, err, part)
		}
	}
}

// TestDates finds the parameters that get the days of a period.
func TestDates(t *testing.T) {
	t.Parallel()
	date := func(name string) report.Parameter { return report.Parameter{Name: name, Type: report.ParamDate} }
	none := []report.Parameter{{Name: "tag", Type: report.ParamString}, {Name: "at", Type: report.ParamDatetime},
		{Name: "days", Type: report.ParamDate, List: true}}
	one, two := append(none[:3:3], date("day")), append(none[:3:3], date("from"), date("to"))
	three := append(two[:5:5], date("paid"))
	for _, c := range []struct {
		parameters []report.Parameter
		as         string
		want, part string
	}{
		{one, "", "day", ""}, {two, "", "from to", ""}, {two, "to", "to", ""}, {three, "paid", "paid", ""},
		{three, "to,from", "to from", ""},
		{none, "", "", "it has none"}, {three, "", "", "it has from, to, paid. Name them with --as"},
		{one, "tag", "", "no parameter of type date"}, {one, "days", "", "it has day"}, {one, "at", "", "it has day"},
		{two, "from,from", "", "name one parameter, or two"}, {three, "from,to,paid", "", "name one parameter, or two"},
	} {
		var names []string
		if c.as != "" {
			names = strings.Split(c.as, ",")
		}
		got, err := Dates(&report.Report{Name: "r", Parameters: c.parameters}, names)
		if c.part == "" && (err != nil || !slices.Equal(got, strings.Fields(c.want))) {
			t.Errorf("--as %s: %q %v", c.as, got, err)
		}
		if c.part != "" && (!errors.Is(err, fault.Input) || !strings.Contains(err.Error(), c.part)) {
			t.Errorf("--as %s: %v, not %s", c.as, err, c.part)
		}
	}
}
