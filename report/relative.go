package report

import (
	"regexp"
	"strconv"
	"time"
)

// Relative is a date or datetime as a person wrote it, such as today-30d. Report.Bind computes it.
type Relative string

var relativeForm = regexp.MustCompile(`^(today|now|week|month|quarter|year)(?:([+-][0-9]{1,5})([dwhm]?))?$`)

// isRelative reports whether a text is a relative value of a type. The numbers are so small that every
// computed year has four digits.
func isRelative(text string, of ParameterType) bool {
	form := relativeForm.FindStringSubmatch(text)
	if form == nil || form[1] == "now" && of != ParamDatetime {
		return false
	}
	const maxDigits = 3 // with the sign: of what can be years
	switch base, change, unit := form[1], form[2], form[3]; {
	case change == "":
		return true
	case base == "today":
		return unit == "d" || unit == "w" && len(change) <= 1+maxDigits
	case base == "now":
		return unit == "h" || unit == "m"
	default:
		return unit == "" && change[0] == '-' && len(change) <= 1+maxDigits
	}
}

// of computes the value at a time: of a date its text, and of a datetime a time.Time in UTC. Days
// begin and end in the zone.
func (v Relative) of(t ParameterType, now time.Time, zone *time.Location) any {
	form := relativeForm.FindStringSubmatch(string(v))
	base, unit := form[1], form[3]
	n, _ := strconv.Atoi(form[2]) // the form allows only digits, or nothing
	local := now.In(zone)
	year, month, day := local.Date()
	switch {
	case base == "now":
		step := time.Minute
		if unit == "h" {
			step = time.Hour
		}
		return now.UTC().Add(time.Duration(n) * step).Truncate(time.Second)
	case base == "today" && unit == "w":
		day += 7 * n
	case base == "today":
		day += n
	case base == "week":
		sinceMonday := (int(local.Weekday()) + 6) % 7
		day += 7*n - sinceMonday
	case base == "month":
		month, day = month+time.Month(n), 1
	case base == "quarter":
		month, day = month-(month-1)%3+time.Month(3*n), 1
	case base == "year":
		year, month, day = year+n, 1, 1
	}
	midnight := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	if t == ParamDate {
		return midnight.Format(time.DateOnly)
	}
	return Reaches(midnight, zone).UTC()
}

// compute replaces relative values of Bind by what they are at a time.
func (p Parameter) compute(value any, now time.Time, zone string) (any, *Mistake) {
	switch v := value.(type) {
	case Relative:
		computed := v.of(p.Type, now, Location(zone))
		if wrong := p.limit(computed, zone); wrong != nil {
			return nil, &Mistake{string(EncodeBound(computed)) + ", which is " + wrong.Message, wrong.Remedy}
		}
		return computed, nil
	case []any:
		if p.Type != ParamDate && p.Type != ParamDatetime {
			return v, nil
		}
		computed := make([]any, len(v))
		for i, item := range v {
			one, wrong := p.compute(item, now, zone)
			if wrong != nil {
				return nil, inElement(i, wrong)
			}
			computed[i] = one
		}
		return computed, nil
	}
	return value, nil
}

// Day returns the day, as its midnight in UTC, that a text means as the value of a date, such as 2024-06-01 or
// today-30d, at a time in a time zone; an empty zone is UTC.
func Day(text string, now time.Time, zone string) (time.Time, *Mistake) {
	p := Parameter{Type: ParamDate}
	value, wrong := p.Bind(EncodeBound(text), zone)
	if wrong == nil {
		value, wrong = p.compute(value, now, zone)
	}
	if wrong != nil {
		return time.Time{}, wrong
	}
	date, _ := value.(string) // Bind returns no other value of a date
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return time.Time{}, &Mistake{"not a date", "Give " + p.wanted()}
	}
	return day, nil
}

// Location returns a time zone whose name was checked; an empty name is UTC.
func Location(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	return zone
}
