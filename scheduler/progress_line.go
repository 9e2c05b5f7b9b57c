package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/scripts/job"
)

// maxOpen is how many listeners a line of progress names.
const maxOpen = 3

// progressLine describes the progress of a job in one line: how many of its listeners are done, what it
// waits for, and the estimated time left. If left is 0, the time is unknown; if it is negative, the job
// takes longer than usual. Such as:
//
//	2/3 · vs_withdraw 41,000 rows in 31s · about 12s left
func progressLine(s *job.State, now time.Time, left time.Duration) string {
	parts := []string{fmt.Sprintf("%d/%d", s.Done, s.Target)}
	switch s.Status {
	case job.StatusRun:
		if open := openNow(s, now); open != "" {
			parts = append(parts, open)
		}
	case job.StatusReady, job.StatusFold:
		parts = append(parts, "the file is being made")
		if !s.Fold.Next.IsZero() {
			parts[1] = "the file" + again(now, s.Fold.Next)
		}
	case job.StatusPublishing:
		parts = append(parts, "the file is being published")
	default:
		return "the job ends without a file"
	}
	switch {
	case left > 0:
		parts = append(parts, "about "+words.Short(max(time.Second, left.Round(time.Second)))+" left")
	case left < 0:
		parts = append(parts, "longer than usual")
	}
	return strings.Join(parts, " · ")
}

// openNow returns the listeners of the stage that are not done, with their rows.
func openNow(s *job.State, now time.Time) string {
	var open []string
	more := 0
	for _, name := range s.Listeners {
		t := s.Tasks[name]
		switch {
		case t.Done:
		case len(open) == maxOpen:
			more++
		default:
			open = append(open, shortName(s, name)+taskNow(t, now))
		}
	}
	if more > 0 {
		open = append(open, fmt.Sprintf("%d more", more))
	}
	return strings.Join(open, ", ")
}

// taskNow describes the progress of a task, after the name of its listener.
func taskNow(t job.TaskState, now time.Time) (text string) {
	if t.Rows > 0 {
		text = " " + words.Count(t.Rows, "row")
	}
	switch {
	case t.Next.After(now):
		text += again(now, t.Next)
	case t.Owner != "" && !t.Taken.IsZero() && t.Rows > 0:
		text += " in " + words.Short(now.Sub(t.Taken).Round(time.Second))
	case t.Owner != "" && !t.Taken.IsZero():
		text += " runs for " + words.Short(now.Sub(t.Taken).Round(time.Second))
	}
	return text
}

func again(now, next time.Time) string {
	return " again in " + words.Short(next.Sub(now).Round(time.Second))
}

// shortName returns the last part of a listener's name, or all of it if another name in the stage has the
// same last part.
func shortName(s *job.State, name string) string {
	last := func(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
	if slices.ContainsFunc(s.Listeners, func(other string) bool { return other != name && last(other) == last(name) }) {
		return name
	}
	return last(name)
}
