package why

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// ofStep has the names of the facts of a step.
var ofStep = table[*step]{
	is: map[string]func(*step) bool{
		"fold":            (*step).isFold,
		"external":        func(s *step) bool { return s.listener.Kind == report.External },
		"listener-paused": func(s *step) bool { return s.stoppedBy() != "" },

		// The try.
		"owner":      func(s *step) bool { return s.Owner != "" },
		"lease-over": func(s *step) bool { return s.Now.After(s.Lease) },
		"taken":      func(s *step) bool { return !s.Taken.IsZero() },
		"rows":       func(s *step) bool { return s.Rows > 0 },
		"parts":      func(s *step) bool { return s.Parts > 0 },
		"pause":      func(s *step) bool { return s.Pause != "" },
		"tries":      func(s *step) bool { return s.Tries != 0 },
		"tries-max":  func(s *step) bool { return s.maxTries != 0 },
		"error":      func(s *step) bool { return s.Error != "" },
		"for-other":  func(s *step) bool { return s.Waits != "" },
		"next":       func(s *step) bool { return !s.Next.IsZero() },
		"past-due":   func(s *step) bool { return s.Now.Sub(s.Next) > inspect.Missed },
		"back":       func(s *step) bool { return s.isBack },

		"blames-records": func(s *step) bool { return s.Blame == job.BlameRecords },
		"blames-sink":    func(s *step) bool { return s.Blame == job.BlameSink },
		"blames-spool":   func(s *step) bool { return s.Blame == job.BlameSpool },
		"blames-slots":   func(s *step) bool { return s.Blame == job.BlameSlots },
		"blames-rate":    func(s *step) bool { return s.Blame == job.BlameRate },
		"blames-busy":    func(s *step) bool { return s.Blame == job.BlameBusy },
		"protected":      func(s *step) bool { return s.source.Protect.Given() },
		"blames-tasks":   func(s *step) bool { return s.Blame == job.BlameTasks },

		// Its stream.
		"entry":    func(s *step) bool { return s.queue.Entry != nil },
		"ahead":    func(s *step) bool { return s.queue.Entry != nil && s.queue.Entry.Ahead > 0 },
		"whole":    func(s *step) bool { return s.queue.Whole },
		"alone-in": func(s *step) bool { return s.live(s.queue) == 0 },

		// Its source.
		"source-refuses":  func(s *step) bool { return errors.Is(s.away(), fault.Login) },
		"source-away":     func(s *step) bool { return s.away() != nil && !errors.Is(s.away(), fault.Login) },
		"work":            func(s *step) bool { return s.source.Work != "" },
		"bounded":         func(s *step) bool { return s.source.Parallel > 0 },
		"slots-full":      func(s *step) bool { return s.source.Parallel > 0 && len(s.holders()) >= s.source.Parallel },
		"limited-by-hand": func(s *step) bool { return s.limit() != nil },
		"slots-used":      func(s *step) bool { return len(s.holders()) > 0 },
		"has-slot":        (*step).hasSlot,
		"in-line":         func(s *step) bool { return s.before() >= 0 },
		"first-in-line":   func(s *step) bool { return s.before() == 0 },
	},
	text: map[string]func(*step) string{
		"name":         func(s *step) string { return s.Name },
		"title":        func(s *step) string { return title(s.Name) },
		"paused-what":  func(s *step) string { return s.pausedTitle() },
		"paused-since": func(s *step) string { return inspect.HoldText(s.Holds[s.stoppedBy()]) },
		"resume":       func(s *step) string { return strings.Replace(s.stoppedBy(), "/", " ", 1) },

		"owner":      func(s *step) string { return s.Owner },
		"lease-over": func(s *step) string { return words.Short(s.Now.Sub(s.Lease)) },
		"taken":      func(s *step) string { return words.Short(s.Now.Sub(s.Taken)) },
		"rows":       func(s *step) string { return words.Grouped(s.Rows) },
		"parts":      func(s *step) string { return fmt.Sprintf("%d of %d parts", s.PartsRead, s.Parts) },
		"pause":      func(s *step) string { return s.Pause },
		"tries":      func(s *step) string { return words.Grouped(s.Tries) },
		"tries-max":  func(s *step) string { return strconv.Itoa(s.maxTries) },
		"error":      func(s *step) string { return s.Error },
		"waits":      func(s *step) string { return s.Waits },
		"next":       func(s *step) string { return words.When(s.Next, s.Now) },
		"lost-every": func(*step) string { return scripts.LostEvery.String() },
		"lost-jobs":  func(*step) string { return strconv.Itoa(scripts.LostJobs) },

		"stream":          func(s *step) string { return s.queue.Key },
		"stream-in-shell": func(s *step) string { return shell(s.queue.Key) },
		"stream-searched": func(s *step) string { return words.Grouped(s.queue.Searched) },
		"length":          func(s *step) string { return words.Grouped(s.queue.Length) },
		"workers":         func(s *step) string { return strconv.Itoa(s.live(s.queue)) },
		"entries-before":  func(s *step) string { return words.Grouped(s.queue.Entry.Ahead) },

		"source":         func(s *step) string { return s.source.Noun + " " + s.listener.Source },
		"section":        func(s *step) string { return s.source.Section + "." + report.DatabaseOf(s.listener.Source) },
		"work":           (*step).work,
		"source-error":   func(s *step) string { return text(s.away()) },
		"slots":          func(s *step) string { return strconv.Itoa(s.source.Parallel) },
		"line-before":    func(s *step) string { return words.Count(s.before(), "task") },
		"slots-used":     func(s *step) string { return strconv.Itoa(len(s.holders())) },
		"source-name":    func(s *step) string { return s.listener.Source },
		"source-limited": func(s *step) string { return inspect.HoldText(*s.limit()) },
		"holders":        (*step).holderNames,
	},
	at: map[string]func(*step) time.Time{
		"next":     func(s *step) time.Time { return s.Next },
		"takeover": func(s *step) time.Time { return s.Now.Add(s.Limits.Lease) },
		"timeout":  (*step).timesOut,
		"poll":     (*step).poll,
	},
}

// work says what a listener of the source does.
func (s *step) work() string {
	return strings.ReplaceAll(s.source.Work, "{source}", s.listener.Source)
}

// limit returns the limit that people have set for the source; nil: none.
func (s *step) limit() *scripts.Hold {
	return limitOf(s.facts, scripts.PausedSource(s.listener.Source))
}

// poll returns when the next try begins by itself; zero: it does not.
func (s *step) poll() time.Time {
	if s.names.holds("comes") {
		return s.Next
	}
	return time.Time{}
}
