package dashboard

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/inspect/why"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/scripts/job"
)

// stateOf is the state of the chip of an open step, by the kind of the step: "failed" needs an operator.
var stateOf = map[why.Kind]string{
	why.KindRunning:       "open",
	why.KindFolding:       "open",
	why.KindEnding:        "open",
	why.KindQueued:        "open",
	why.KindPaused:        "paused",
	why.KindNoSlot:        "wait",
	why.KindRateLimited:   "wait",
	why.KindSourceBusy:    "wait",
	why.KindWaiting:       "wait",
	why.KindRetryWaiting:  "retry",
	why.KindSinkFails:     "retry",
	why.KindSpoolFails:    "retry",
	why.KindNoDefinition:  "failed",
	why.KindRecordsAway:   "failed",
	why.KindSourceRefuses: "failed",
	why.KindSourceAway:    "failed",
	why.KindNoScheduler:   "failed",
	why.KindNoWorker:      "failed",
	why.KindWorkerDead:    "failed",
	why.KindLost:          "failed",
}

// chipOfStep returns the state and the text of the chip of an open step.
func chipOfStep(s why.Step, now time.Time) (state, text string) {
	text = strings.ReplaceAll(string(s.Kind), "-", " ")
	switch s.Kind {
	case why.KindFolding, why.KindEnding:
		text = "running"
	case why.KindNoSlot:
		text = "waits for a slot"
	case why.KindRateLimited:
		text = "waits for the rate limit"
	case why.KindSourceBusy:
		text = "waits for its source"
	case why.KindWaiting:
		text = "next poll in " + words.Short(s.Next.Sub(now))
	case why.KindRetryWaiting, why.KindSinkFails, why.KindSpoolFails:
		text = "next try in " + words.Short(s.Next.Sub(now))
	}
	return stateOf[s.Kind], text
}

// chips returns the listeners of a job's stage, or its fan-in.
func (p *jobPages) chips(s *sample, r inspect.Running, stopped func(listener string) bool) []chip {
	later, failed := map[string]time.Time{}, map[string]bool{}
	for _, l := range s.Later[r.ID] {
		if l.Due != nil {
			later[l.Step()], failed[l.Step()] = *l.Due, s.Failed[l.Member]
		}
	}
	chipOf := func(name string, open bool) chip {
		c := chip{Name: name, State: "done", Text: "done"}
		next, waits := later[name]
		switch {
		case !open:
		case stopped(name):
			c.State, c.Text = "paused", "paused"
		case waits && !failed[name]:
			c.State, c.Text = "wait", "waits"
		case waits:
			c.State, c.Text = "retry", "next try in "+words.Short(next.Sub(s.At))
		default:
			c.State, c.Text = "open", "open"
		}
		return c
	}
	if r.Status == "" {
		return []chip{{Name: "state", State: "retry", Text: "not in Redis"}}
	}
	if r.Status != job.StatusRun {
		c := chipOf(job.StepFanIn, true)
		c.Name, c.Text = "file", cmp.Or(map[bool]string{true: c.Text}[c.State != "open"], strings.ToLower(r.Status))
		return []chip{c}
	}
	names := r.Open
	if rep := p.o.Inspect.Config.Reports[r.Report]; rep != nil && int(r.Stage) <= len(rep.Stages) && r.Stage > 0 {
		names = nil
		for _, l := range rep.Stages[r.Stage-1].Listeners {
			names = append(names, l.Name)
		}
	}
	var all []chip
	for _, name := range names {
		all = append(all, chipOf(name, slices.Contains(r.Open, name)))
	}
	return all
}
