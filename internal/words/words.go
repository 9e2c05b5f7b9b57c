// Package words answers one question: how do people read a size, a time or a number?
//
// All texts of pages, commands and verdicts use these forms.
package words

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Stamp formats a time in the local time zone.
func Stamp(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 -07:00") }

// When formats the distance of a time from now, such as "in 5s" or "5s ago".
func When(at, now time.Time) string {
	if at.Before(now) {
		return Short(now.Sub(at)) + " ago"
	}
	return "in " + Short(at.Sub(now))
}

// horizon is the longest duration that is shown. A time that another program wrote can be any.
const horizon = 87660 * time.Hour

// beyond is the text of a longer duration.
const beyond = "more than 10 years"

// Short formats a duration, such as 40ms, 1.5s, 1m30s or 1h5m.
func Short(d time.Duration) string {
	switch d = max(d, 0); {
	case d >= horizon:
		return beyond
	case d < time.Second:
		d = d.Round(time.Millisecond)
	case d < 10*time.Second:
		d = d.Round(100 * time.Millisecond)
	case d < 10*time.Minute:
		d = d.Round(time.Second)
	default:
		d = d.Round(time.Minute)
	}
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} { // 1h0m0s is 1h
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// Count formats a number with its noun: 1 job, 2 jobs, 2 entries.
func Count[T int | int64 | float64](n T, one string) string {
	text := Grouped(n) + " "
	if stem, ok := strings.CutSuffix(one, "y"); ok && n != 1 {
		return text + stem + "ies"
	} else if n != 1 {
		return text + one + "s"
	}
	return text + one
}

// Grouped formats a number with a comma between thousands.
func Grouped[T int | int64 | float64](n T) string {
	text := strconv.FormatFloat(float64(n), 'f', 0, 64)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Bytes formats a size in powers of 1024, as in the configuration.
func Bytes(n int64) string {
	const unit = 1024
	if n < unit {
		return Grouped(n) + " B"
	}
	value, i := float64(n)/unit, 0
	for ; value >= unit && i < 3; i++ {
		value /= unit
	}
	return fmt.Sprintf("%.1f %s", value, []string{"KB", "MB", "GB", "TB"}[i])
}
