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

// chipOfStep returns the state and the text of the chip of an open step.
func chipOfStep(s why.Step, now time.Time) (state, text string) {
	switch s.Kind {
	case why.KindRunning, why.KindFolding, why.KindEnding:
		return "open", "running"
	case why.KindQueued, why.KindPaused:
		return map[why.Kind]string{why.KindQueued: "open", why.KindPaused: "paused"}[s.Kind], string(s.Kind)
	case why.KindNoSlot:
		return "wait", "waits for a slot"
	case why.KindRateLimited:
		return "wait", "waits for the rate limit"
	case why.KindWaiting:
		return "wait", "next poll in " + words.Countdown(s.Next.Sub(now))
	case why.KindRetryWaiting, why.KindSinkFails:
		return "retry", "next try in " + words.Countdown(s.Next.Sub(now))
	}
	return "failed", strings.ReplaceAll(string(s.Kind), "-", " ")
}

// chips returns the listeners of a job's stage, or its fan-in.
func (p *jobPages) chips(s *sample, r inspect.Running, paused map[string]bool) []chip {
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
		case paused["listener/"+name]:
			c.State, c.Text = "paused", "paused"
		case waits && !failed[name]:
			c.State, c.Text = "wait", "waits"
		case waits:
			c.State, c.Text = "retry", "next try in "+words.Countdown(next.Sub(s.At))
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
