package inspect

import (
	"fmt"
	"strconv"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scheduler"
)

// stepWords are the words of stepRules.
var stepWords = words[*stepFacts]{
	"id":       func(s *stepFacts) string { return s.ID },
	"step":     func(s *stepFacts) string { return title(s.Name) },
	"owner":    func(s *stepFacts) string { return s.Owner },
	"error":    func(s *stepFacts) string { return s.Error },
	"waits":    func(s *stepFacts) string { return s.Waits },
	"reason":   func(s *stepFacts) string { return s.Job.Reason },
	"away":     func(s *stepFacts) string { return fmt.Sprint(s.away) },
	"missing":  func(s *stepFacts) string { return s.missing },
	"next":     func(s *stepFacts) string { return When(s.Next, s.Now) },
	"paused":   func(s *stepFacts) string { return Stamp(s.pausedSince()) },
	"lease":    func(s *stepFacts) string { return short(s.Now.Sub(s.Lease)) },
	"stream":   func(s *stepFacts) string { return s.queue.Key },
	"delayed":  func(s *stepFacts) string { return s.Keys.Delayed() },
	"length":   func(s *stepFacts) string { return strconv.FormatInt(s.queue.Length, 10) },
	"searched": func(s *stepFacts) string { return strconv.FormatInt(s.queue.Searched, 10) },
	"workers":  func(s *stepFacts) string { return strconv.Itoa(s.live(s.queue)) },
	"ahead":    func(s *stepFacts) string { return strconv.FormatInt(s.queue.Entry.Ahead, 10) },
	"others": func(s *stepFacts) string {
		if s.fold() {
			return "jobs"
		}
		return "tasks"
	},
	"taken": func(s *stepFacts) string {
		if s.Taken.IsZero() {
			return ""
		}
		return " " + short(s.Now.Sub(s.Taken)) + " ago"
	},
	"source": func(s *stepFacts) string {
		switch {
		case s.listener == nil:
			return "its source"
		case s.listener.Kind == report.FromHTTP:
			return "API " + s.listener.Source
		}
		return "database " + s.listener.Source
	},
	"works": func(s *stepFacts) string {
		since := short(s.Now.Sub(s.Taken))
		switch {
		case s.listener != nil && s.listener.Kind == report.FromHTTP:
			return fmt.Sprintf("it asks API %s, for %s so far", s.listener.Source, since)
		case s.listener != nil && s.listener.Kind == report.External:
			return "it runs for " + since
		}
		return "its query runs for " + since
	},
	"rows": func(s *stepFacts) string {
		if s.Rows == 0 {
			return ""
		}
		return fmt.Sprintf("; %d rows so far", s.Rows)
	},
	"try":   (*stepFacts).try,
	"tried": func(s *stepFacts) string { return after("; the last try failed: ", s.Error) },
	"before": func(s *stepFacts) string {
		if s.Waits != "" {
			return "; it waits for " + s.Waits
		}
		return after("; the last try failed: ", s.Error)
	},
	"again": func(s *stepFacts) string {
		if s.Waits != "" {
			return fmt.Sprintf("it waits for %s; the next poll is %s", s.Waits, When(s.Next, s.Now))
		}
		return "it is tried again " + When(s.Next, s.Now) + s.try()
	},
	"attempt": func(s *stepFacts) string {
		if s.Waits != "" {
			return "the next poll of " + title(s.Name)
		}
		return fmt.Sprintf("try %d of %s", s.Tries, title(s.Name))
	},
	"send": func(s *stepFacts) string {
		return fmt.Sprintf("%s XADD %s '*' id %s attempt %d does it at once; otherwise a scheduler does, %s",
			s.redisCLI(), shell(s.queue.Key), s.ID, s.Job.Attempt, lostWithin())
	},
}

// try says which try it is, and of how many.
func (s *stepFacts) try() string {
	switch {
	case s.Tries == 0:
		return ""
	case s.maxTries == 0:
		return fmt.Sprintf(" (try %d)", s.Tries)
	}
	return fmt.Sprintf(" (try %d of %d)", s.Tries, s.maxTries)
}

// lostWithin is how soon schedulers find what Redis has lost.
func lostWithin() string {
	return fmt.Sprintf("within %s per %d running jobs", scheduler.LostEvery, scheduler.LostJobs)
}
