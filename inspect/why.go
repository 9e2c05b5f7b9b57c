package inspect

import (
	"context"
	"slices"
)

// Why says what keeps a job. A server that is away is an answer, and no error.
func (in *Inspector) Why(ctx context.Context, id string) (Verdict, error) {
	v := diagnose(gather(ctx, in, id))
	if v.Kind == KindLost || v.Kind == KindNotPushed {
		// What moved during the search is not lost: search once more.
		v = diagnose(gather(ctx, in, id))
	}
	return v, ctx.Err()
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
