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

// horizon is the longest duration that is shown exactly. A time that another program wrote can be any.
const horizon = 87660 * time.Hour

// beyond is the text of a longer duration.
const beyond = "more than 10 years"

// Short formats a duration exactly, such as 1.5s or 1h5m12s.
func Short(d time.Duration) string {
	if d >= horizon {
		return beyond
	}
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// Span formats a duration roughly, such as 12 s, 3 min or 1 h 5 min.
func Span(d time.Duration) string {
	switch d = max(d, time.Second); {
	case d < 90*time.Second:
		return strconv.Itoa(int((d+time.Second/2)/time.Second)) + " s"
	case d < 90*time.Minute:
		return strconv.Itoa(int((d+time.Minute/2)/time.Minute)) + " min"
	}
	minutes := int((d + time.Minute/2) / time.Minute)
	if minutes%60 == 0 {
		return strconv.Itoa(minutes/60) + " h"
	}
	return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
}

// Countdown formats the time that remains, such as 0:41 or 2:03:00.
func Countdown(d time.Duration) string {
	if d < 0 {
		return "now"
	}
	if d >= horizon {
		return beyond
	}
	d = d.Round(time.Second)
	hours, minutes, seconds := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	if hours > 0 {
		return fmt.Sprintf("%d:%02d:%02d", hours, minutes, seconds)
	}
	return fmt.Sprintf("%d:%02d", minutes, seconds)
}

// Count formats a number with its noun: 1 job, 2 jobs, 2 entries.
func Count[T int | int64 | float64](n T, one string) string {
	text := strconv.FormatFloat(float64(n), 'f', 0, 64) + " "
	if stem, ok := strings.CutSuffix(one, "y"); ok && n != 1 {
		return text + stem + "ies"
	} else if n != 1 {
		return text + one + "s"
	}
	return text + one
}

// Rows formats a number of rows.
func Rows(n int64) string {
	if n == 1 {
		return "1 row"
	}
	return Grouped(n) + " rows"
}

// Grouped formats a number with a comma between thousands.
func Grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Bytes formats a size in memory, in powers of 1024 as in the configuration.
func Bytes(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, i := float64(n)/unit, 0
	for ; value >= unit && i < 3; i++ {
		value /= unit
	}
	return fmt.Sprintf("%.1f %s", value, []string{"KB", "MB", "GB", "TB"}[i])
}

// FileSize formats the size of a file, in powers of 1000 as file managers do.
func FileSize(n int64) string {
	unit, of := "bytes", int64(1)
	for _, u := range []struct {
		name string
		of   int64
	}{{"kB", 1000}, {"MB", 1_000_000}, {"GB", 1_000_000_000}} {
		if n >= u.of {
			unit, of = u.name, u.of
		}
	}
	if of == 1 || n >= 10*of {
		return Grouped((n+of/2)/of) + " " + unit
	}
	return fmt.Sprintf("%.1f %s", float64(n)/float64(of), unit)
}
