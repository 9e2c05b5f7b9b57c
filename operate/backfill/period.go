package backfill

import (
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
)

// Unit is the length of the periods of a range.
type Unit string

// The units. Weeks begin on Monday.
const (
	Day   Unit = "day"
	Week  Unit = "week"
	Month Unit = "month"
)

// Units are all of them.
var Units = []Unit{Day, Week, Month}

// Period is a number of days, as texts such as 2024-06-01.
type Period struct {
	First string `json:"first"`
	Last  string `json:"last"` // inclusive
}

// String returns the only day, or both ends.
func (p Period) String() string {
	if p.First == p.Last {
		return p.First
	}
	return p.First + ".." + p.Last
}

// maxPeriods is the maximum number of periods of a range.
const maxPeriods = 10_000

// yesterday can be an end of a range, although no parameter has this value.
const yesterday = "yesterday"

// Range splits a range such as 2024-01-01..2024-01-31 or month-1..yesterday into its periods, in their order. Both
// ends belong to the range. Relative dates are those of a time zone; an empty zone is UTC. A week or month that the
// range does not have whole is cut. The error is a fault.Input.
func Range(text string, of Unit, now time.Time, zone string) ([]Period, error) {
	from, to, two := strings.Cut(text, "..")
	if !two {
		return nil, fault.Input.New("%s is not a range: write the first and the last day, such as "+
			"2024-01-01..2024-01-31 or today-30d..yesterday", report.Shorten(text))
	}
	var ends []time.Time
	for _, end := range []string{from, to} {
		if end == yesterday {
			end = "today-1d"
		}
		day, wrong := report.Day(end, now, zone)
		if wrong != nil {
			return nil, fault.Input.New("%s is %s: give a day such as 2024-01-31, yesterday or today-30d",
				report.Shorten(end), wrong.Message)
		}
		ends = append(ends, day)
	}
	first, last := ends[0], ends[1]
	if last.Before(first) {
		return nil, fault.Input.New("%s ends before it begins: %s is after %s", report.Shorten(text),
			first.Format(time.DateOnly), last.Format(time.DateOnly))
	}
	var periods []Period
	for day := first; !day.After(last); {
		next := of.next(day)
		if len(periods) == maxPeriods {
			return nil, fault.Input.New("%s has more than %d periods: give a shorter range, and another one after it",
				report.Shorten(text), maxPeriods)
		}
		end := next.AddDate(0, 0, -1)
		if end.After(last) {
			end = last
		}
		periods = append(periods, Period{day.Format(time.DateOnly), end.Format(time.DateOnly)})
		day = next
	}
	return periods, nil
}

// next returns the first day of the next period. Days are midnights in UTC, so all have 24 hours.
func (of Unit) next(day time.Time) time.Time {
	switch of {
	case Week:
		sinceMonday := (int(day.Weekday()) + 6) % 7
		return day.AddDate(0, 0, 7-sinceMonday)
	case Month:
		return day.AddDate(0, 1, 1-day.Day())
	}
	return day.AddDate(0, 0, 1)
}

// Dates returns the parameters of a report that get the first, and the last day of a period: those with the given
// names, or the only one or two of type date. The error is a fault.Input.
func Dates(r *report.Report, names []string) ([]string, error) {
	var dates []string
	for _, p := range r.Parameters {
		if p.Type == report.ParamDate && !p.List {
			dates = append(dates, p.Name)
		}
	}
	has := "it has none"
	if len(dates) > 0 {
		has = "it has " + report.Listing(dates)
	}
	if len(names) == 0 {
		if len(dates) != 1 && len(dates) != 2 {
			return nil, fault.Input.New("report %s needs one or two parameters of type date, for the first and the last "+
				"day: %s. Name them with --as FIRST or --as FIRST,LAST", r.Name, has)
		}
		return dates, nil
	}
	if len(names) > 2 || len(names) == 2 && names[0] == names[1] {
		return nil, fault.Input.New("--as %s: name one parameter, or two for the first and the last day",
			report.Shorten(strings.Join(names, ",")))
	}
	for _, name := range names {
		if !slices.Contains(dates, name) {
			return nil, fault.Input.New("--as %s: report %s has no parameter of type date with this name: %s",
				report.Shorten(name), r.Name, has)
		}
	}
	return names, nil
}
