package inspect

import (
	"fmt"
	"time"
)

// Stamp writes a time for people: theirs, with its zone.
func Stamp(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 -07:00") }

// When says how far a time is from now.
func When(at, now time.Time) string {
	d := at.Sub(now)
	if d < 0 {
		return short(-d) + " ago"
	}
	return "in " + short(d)
}

// short is a duration that people can read.
func short(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// behind says how many are before it.
func behind(n int64) string {
	switch n {
	case 0:
		return " as the next one"
	case 1:
		return " behind 1 other"
	}
	return fmt.Sprintf(" behind %d others", n)
}

// after puts something between two texts, unless the second is empty.
func after(between, text string) string {
	if text == "" {
		return ""
	}
	return between + text
}
