package inspect

import (
	"context"
	"slices"
	"strings"
)

// Why says what keeps a job. A server that is away is an answer, and no error.
func (in *Inspector) Why(ctx context.Context, id string) (Verdict, error) {
	v := diagnose(in.gather(ctx, id))
	if v.Kind == KindLost || v.Kind == KindNotPushed {
		// What moved while it was looked for is not lost: look once more.
		v = diagnose(in.gather(ctx, id))
	}
	return v, ctx.Err()
}

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
		if !f.runs() {
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

// diagnose says what keeps a job.
func diagnose(f *facts) Verdict {
	v := Verdict{ID: f.ID, Now: f.Now}
	if r := f.Record; r != nil {
		v.Status, v.Report, v.Attempt = r.Status, r.Report, r.Attempt
	}
	if j := f.Job; j != nil && (f.Record == nil || j.Attempt == f.Record.Attempt) {
		v.Report, v.Attempt, v.Job, v.Stage = j.Report, j.Attempt, j.Status, j.Stage
	}
	j := judge(f)
	for _, s := range j.steps {
		v.Steps = append(v.Steps, s.step())
		tell(&v, s.rule, stepWords, s.stepFacts)
	}
	v.Kind, v.Summary = j.kind, jobWords.fill(j, j.rule.says)
	tell(&v, j.rule, jobWords, j)
	for _, n := range jobNotes {
		if !n.when(j) {
			continue
		}
		if says := jobWords.fill(j, n.says); n.at == nil {
			v.Details = append(v.Details, says)
		} else {
			v.Upcoming = append(v.Upcoming, Upcoming{n.at(j), says})
		}
	}
	if f.RecordErr != nil && f.RedisErr == nil {
		if v.Summary != "" {
			v.Details = slices.Insert(v.Details, 0, "By what Redis knows: "+v.Summary)
		}
		v.Kind, v.Summary = KindRecordsAway, jobWords.fill(j, "The records' database does not answer: {records}.")
	}
	slices.SortStableFunc(v.Upcoming, func(a, b Upcoming) int { return a.At.Compare(b.At) })
	v.Commands = f.commands(v)
	return v
}

// tell adds what a rule says besides its first sentence.
func tell[F any](v *Verdict, r *rule[F], w words[F], facts F) {
	for _, text := range r.more {
		v.Details = append(v.Details, w.fill(facts, text))
	}
	for _, text := range r.do {
		if text = w.fill(facts, text); !slices.Contains(v.Remedies, text) {
			v.Remedies = append(v.Remedies, text)
		}
	}
	if r.at != nil {
		v.Upcoming = append(v.Upcoming, Upcoming{r.at(facts), w.fill(facts, r.then)})
	}
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
