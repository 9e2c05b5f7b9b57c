package job

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxOpen is how many listeners a line of progress names.
const maxOpen = 3

// Progress says in one line how far a job is: how many of its listeners are done, what it waits
// for, and how long it probably takes from now on: nothing is said of that if left is 0, and that it
// takes longer than usual if it is negative. Such as:
//
//	2/3 · vs_withdraw 41,000 rows in 31 s · about 12 s left
func (s *State) Progress(now time.Time, left time.Duration) string {
	parts := []string{fmt.Sprintf("%d/%d", s.Done, s.Target)}
	switch s.Status {
	case StatusRun:
		if open := s.openNow(now); open != "" {
			parts = append(parts, open)
		}
	case StatusReady, StatusFold:
		parts = append(parts, "the file is being made")
		if !s.Fold.Next.IsZero() {
			parts[1] = "the file" + again(now, s.Fold.Next)
		}
	case StatusPublishing:
		parts = append(parts, "the file is being published")
	default:
		return "the job ends without a file"
	}
	switch {
	case left > 0:
		parts = append(parts, "about "+Span(left)+" left")
	case left < 0:
		parts = append(parts, "longer than usual")
	}
	return strings.Join(parts, " · ")
}

// openNow names the listeners of the stage that are not done, with their rows.
func (s *State) openNow(now time.Time) string {
	var open []string
	more := 0
	for _, name := range s.Listeners {
		t := s.Tasks[name]
		switch {
		case t.Done:
		case len(open) == maxOpen:
			more++
		default:
			open = append(open, s.short(name)+t.now(now))
		}
	}
	if more > 0 {
		open = append(open, fmt.Sprintf("%d more", more))
	}
	return strings.Join(open, ", ")
}

// now says how far a task is, behind the name of its listener.
func (t TaskState) now(now time.Time) (text string) {
	if t.Rows > 0 {
		text = " " + Rows(t.Rows)
	}
	switch {
	case t.Next.After(now):
		text += again(now, t.Next)
	case t.Owner != "" && !t.Taken.IsZero() && t.Rows > 0:
		text += " in " + Span(now.Sub(t.Taken))
	case t.Owner != "" && !t.Taken.IsZero():
		text += " runs for " + Span(now.Sub(t.Taken))
	}
	return text
}

func again(now, next time.Time) string { return " again in " + Span(next.Sub(now)) }

// short is the last part of a listener's name, if no other one of the stage ends with it.
func (s *State) short(name string) string {
	last := func(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
	if slices.ContainsFunc(s.Listeners, func(other string) bool { return other != name && last(other) == last(name) }) {
		return name
	}
	return last(name)
}

// Span is a duration for people: 12 s, 3 min, 1 h 5 min.
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

// Rows is a number of rows for people.
func Rows(n int64) string {
	if n == 1 {
		return "1 row"
	}
	return Grouped(n) + " rows"
}

// Grouped is a number with a comma between thousands.
func Grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
