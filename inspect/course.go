package inspect

import (
	"iter"
	"time"

	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/scripts/job"
)

// Queued returns how long a job waited for its start; 0: it is not known. A retry waits from its own push on, which is
// not known.
func (j Job) Queued() time.Duration {
	if j.Started == nil || j.Created == nil || j.Attempt > 1 {
		return 0
	}
	return max(0, j.Started.Sub(*j.Created))
}

// Course iterates over the steps of a job that has started, the last one of which is fan-in, with the time from which
// each waited. That is the start of its stage: of the job, or when all listeners of the previous stages were done.
func (j Job) Course() iter.Seq2[Listener, time.Time] {
	return func(yield func(Listener, time.Time) bool) {
		begin, stage := *j.Started, int64(1)
		next := begin
		for _, l := range j.Listeners {
			if l.Stage > max(j.Stage, 1) && !j.Status.Final() {
				continue
			}
			if l.Stage > stage {
				stage, begin = l.Stage, next
			}
			if l.Ended != nil && l.Ended.After(next) {
				next = *l.Ended
			}
			if !yield(l, begin) {
				return
			}
		}
		if j.FanIn != nil {
			l := *j.FanIn
			l.Name = job.StepFanIn
			yield(l, next)
		}
	}
}

// Took says when a step that could begin at a time waited and worked.
func (l Listener) Took(begin, now time.Time) string {
	began := begin
	if l.Began != nil && l.Began.After(begin) {
		began = *l.Began
	}
	waited := "waited " + words.Short(began.Sub(begin))
	switch {
	case l.Reused > 0:
		return l.Origin(now)
	case l.State == "omitted" && l.Ended != nil:
		return "was left out after " + words.Short(l.Ended.Sub(begin))
	case l.Ended != nil && l.AsOf != nil:
		return "failed after " + words.Short(l.Ended.Sub(begin))
	case l.Ended != nil:
		return waited + ", took " + words.Short(l.Ended.Sub(began))
	case l.Next != nil && l.Next.After(now) && l.Waits:
		return "waiting for " + words.Short(now.Sub(begin)) + ", next poll " + words.When(*l.Next, now)
	case l.Next != nil && l.Next.After(now):
		return "is retried " + words.When(*l.Next, now)
	case l.Began != nil:
		return waited + ", running for " + words.Short(now.Sub(began))
	}
	return "waiting for " + words.Short(now.Sub(begin))
}
