package inspect

import (
	"strings"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// judged is a job with the rules that hold for it and for its steps.
type judged struct {
	*facts
	steps []judgedStep
	worst *judgedStep // nil: it waits for none
	rule  *rule[*judged]
	kind  Kind
}

// judgedStep is a step with the rule that holds for it.
type judgedStep struct {
	*stepFacts
	rule *rule[*stepFacts]
}

// judge finds the rules that hold. It needs no server.
func judge(f *facts) *judged {
	j := &judged{facts: f}
	worst := len(stepRules)
	for _, p := range f.open() {
		if !j.runs() {
			break
		}
		s := newStep(f, p)
		r, place := first(stepRules, s)
		j.steps = append(j.steps, judgedStep{s, r})
		if place < worst {
			worst, j.worst = place, &judgedStep{s, r}
		}
	}
	j.rule, _ = first(jobRules, j)
	j.kind = j.rule.kind
	if j.kind == "" {
		j.kind = j.worst.rule.kind
	}
	return j
}

// is tells whether the record has a status.
func (j *judged) is(s report.Status) bool { return j.Record != nil && j.Record.Status == s }

// final tells whether the record has a final status.
func (j *judged) final() bool { return j.Record != nil && j.Record.Status.Final() }

// missing tells whether the database answers and has no such record.
func (j *judged) missing() bool {
	return j.RedisErr == nil && j.RecordErr == nil && j.Record == nil
}

// runs tells whether the job runs, by all that is known.
func (j *judged) runs() bool {
	if j.RedisErr != nil || j.Job == nil || !j.Job.runs() {
		return false
	}
	return j.Record == nil || j.Record.Attempt == j.Job.Attempt && j.Record.ID == j.ID && !j.final()
}

// ends tells whether the job fails at its deadline.
func (j *judged) ends() bool {
	return (j.runs() || j.kind == KindSuperseded) && !j.Job.committed()
}

func (j *judged) deadline() time.Time { return j.Job.Deadline }

// due is when the id is pushed, or its record read again.
func (j *judged) due() time.Time { return *j.push().Due }

// graceEnds is when a rebuild can start the record.
func (j *judged) graceEnds() time.Time { return j.Now.Add(j.Limits.Grace - j.Record.Age) }

// pausedSince is since when the record's report is paused; zero where it is not.
func (j *judged) pausedSince() time.Time { return j.Paused[scripts.PausedReport(j.Record.Report)] }

// lastHad is when a process had the definition of the job; zero where that is not known.
func (j *judged) lastHad() time.Time { return j.Seen.Last[j.Job.member()] }

// restart is when the job starts anew where its report has on_change: restart.
func (j *judged) restart() time.Time { return j.lastHad().Add(j.Limits.Grace) }

// triggerDead tells whether a trigger has read the id and says nothing since.
func (j *judged) triggerDead() bool {
	e := j.Jobs.Entry
	return e != nil && e.Consumer != "" && e.Idle > j.Limits.Lease
}

// says is what keeps a step.
func (s judgedStep) says() string { return stepWords.fill(s.stepFacts, s.rule.says) }

// step is what a verdict tells of a step.
func (s judgedStep) step() Step {
	return Step{
		Name: s.Name, Kind: s.rule.kind, Says: s.says(), Try: s.Tries, Tries: s.maxTries, Owner: s.Owner,
		Since: optional(s.Taken), Lease: optional(s.Lease), Next: optional(s.Next), Error: s.Error,
	}
}

// waitsFor names the steps in a sentence.
func (j *judged) waitsFor() string {
	var names []string
	for _, s := range j.steps {
		names = append(names, title(s.Name))
	}
	return strings.Join(names, ", ")
}

// worstSays is what the worst step says, with its name where there are others.
func (j *judged) worstSays() string {
	if len(j.steps) > 1 {
		return title(j.worst.Name) + ": " + j.worst.says()
	}
	return j.worst.says()
}
