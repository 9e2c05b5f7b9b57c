package moment

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var durationForm = regexp.MustCompile(`^(?:([0-9]{1,4})w)?(?:([0-9]{1,5})d)?(.*)$`)

// ErrDuration is the error of a text that is not a duration.
var ErrDuration = errors.New("write a duration such as 90s, 10m, 24h, 1d or 1w")

// ParseDuration parses a Go duration, optionally after weeks (w, 7 days) and days (d, 24 hours).
func ParseDuration(text string) (time.Duration, error) {
	parts := durationForm.FindStringSubmatch(text)
	var sum time.Duration
	if parts == nil || text == "" {
		return 0, ErrDuration
	}
	for i, unit := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour} {
		if n, err := strconv.Atoi(parts[i+1]); err == nil {
			sum += time.Duration(n) * unit
		}
	}
	if parts[3] != "" {
		rest, err := time.ParseDuration(parts[3])
		if err != nil || sum > 0 && rest < 0 {
			return 0, ErrDuration
		}
		sum += rest
	}
	return sum, nil
}

// Parse parses RFC 3339, a date and time in a zone, or unix seconds or milliseconds.
func Parse(text string, zone *time.Location) (time.Time, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		switch len(text) {
		case 10:
			return time.Unix(n, 0), nil
		case 13:
			return time.UnixMilli(n), nil
		}
		return time.Time{}, fmt.Errorf("%s is not a time: unix seconds have 10 digits, milliseconds 13", text)
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04", time.DateTime} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time such as 2024-06-01T09:30:00+02:00, '2024-06-01 09:30' (in this machine's time zone), or unix seconds or milliseconds", text)
}

// last returns the last time that a text names: noon or 09:30, at which it was or is that time, the start of today or
// of yesterday, or a time of these days, such as yesterday noon. It returns false for any other text.
func last(text string, now time.Time) (time.Time, bool) {
	day, clock, both := strings.Cut(text, " ")
	back, named := map[string]int{"today": 0, "yesterday": 1}[day]
	switch {
	case !named && both:
		return time.Time{}, false
	case !named:
		clock = day
	case !both:
		clock = "00:00"
	}
	if clock == "noon" {
		clock = "12:00"
	}
	at, err := time.Parse("15:04", clock)
	if err != nil {
		return time.Time{}, false
	}
	of := func(back int) time.Time {
		year, month, day := now.Date()
		return time.Date(year, month, day-back, at.Hour(), at.Minute(), 0, 0, now.Location())
	}
	if !named && of(0).After(now) {
		back = 1
	}
	return of(back), true
}

// Ago parses a duration before now, a time, or the name of the last one, such as noon, 09:30 or yesterday. Of an empty
// text, it returns the zero time.
func Ago(text string, now time.Time, zone *time.Location) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	if at, ok := last(text, now.In(zone)); ok {
		return at, nil
	}
	at, err := Parse(text, zone)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is neither a duration such as 90s, 10m or 1d, nor a time such as noon, 09:30, "+
			"yesterday, 'yesterday noon', '2024-06-01 09:30' (in this machine's time zone), 2024-06-01T09:30:00+02:00, unix "+
			"seconds or milliseconds", text)
	}
	return at, nil
}

// Span is a time from Since, inclusive, to Until, exclusive. A zero time is no bound.
type Span struct{ Since, Until time.Time }

// ParseSpan parses both ends with Ago. The error names the end: its word is since or until.
func ParseSpan(since, until string, now time.Time, zone *time.Location) (s Span, end string, err error) {
	if s.Since, err = Ago(since, now, zone); err != nil {
		return Span{}, "since", err
	}
	if s.Until, err = Ago(until, now, zone); err != nil {
		return Span{}, "until", err
	}
	return s, "", nil
}

// Has reports whether a time is in the span.
func (s Span) Has(at time.Time) bool {
	return !at.Before(s.Since) && (s.Until.IsZero() || at.Before(s.Until))
}
