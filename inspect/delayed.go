package inspect

import (
	"cmp"
	"context"
	"math"
	"strings"
	"time"

	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// DelayedSet is the sorted set of ids and steps that are due later.
type DelayedSet struct{ o *Options }

// Delayed is a member of the delayed set.
type Delayed struct {
	Member string     `json:"member"`
	ID     string     `json:"id,omitempty"`
	Due    *time.Time `json:"due,omitempty"` // nil: its score is not a valid time
	In     string     `json:"in,omitempty"`  // time until then; negative: overdue
	What   string     `json:"what"`
	Score  float64    `json:"-"`
	Bad    string     `json:"bad,omitempty"` // why it will never run

	later job.Later
}

// Retry reports whether it is a step of a running job, and not an id to be started.
func (d Delayed) Retry() bool { return d.later.Step != "" && d.later.Step != job.StepTrigger }

// Step returns the step to run: a listener's name or one of package job's steps; empty: the job.
func (d Delayed) Step() string { return d.later.Step }

// Attempt returns the attempt of the job, or the number of the poll of a record.
func (d Delayed) Attempt() int64 { return d.later.Attempt }

// NewDelayed describes a member.
func NewDelayed(member string, score float64, now time.Time) Delayed {
	d := Delayed{Member: member, Score: score}
	var err error
	if d.later, err = job.ParseLater(member); err != nil {
		d.Bad, d.What = "not a valid member: it is quarantined when it is due", "?"
	} else {
		d.ID, d.What = d.later.ID, whatLater(d.later)
	}
	due, ok := DueTime(score)
	if !ok || due.Sub(now) > scripts.Horizon {
		d.Bad = "its score is not a valid time, or is more than ten years away: it is quarantined"
		return d
	}
	if due.UnixMilli() < scripts.MinMillis {
		due = now // as the scheduler treats it
	}
	d.Due, d.In = &due, due.Sub(now).Round(time.Second).String()
	return d
}

// DueTime returns the time of a score, which is in milliseconds, or in seconds if it is small. It
// returns false if the score is not a valid time.
func DueTime(score float64) (time.Time, bool) {
	if math.IsNaN(score) || math.IsInf(score, 0) || score >= scripts.MaxMillis {
		return time.Time{}, false
	}
	if score < scripts.MinMillis {
		score *= 1000
	}
	return time.UnixMilli(int64(score)), true
}

// whatLater says what happens when a member becomes due.
func whatLater(l job.Later) string {
	switch l.Step {
	case "":
		return "job"
	case job.StepTrigger:
		return "poll of the record"
	case job.StepFanIn:
		return "retry of fan-in"
	case job.StepRecord:
		return "retry of the record"
	}
	return "retry of " + l.Step
}

// Failed returns those of some members whose step failed. Other steps wait for something, such as a slot,
// or were handed back.
func (l DelayedSet) Failed(ctx context.Context, delayed []Delayed) (map[string]bool, error) {
	steps, all := map[*scripts.Scripts][]job.Later{}, map[string]bool{}
	for _, d := range delayed {
		s := l.o.Scripts.Of(d.ID)
		steps[s] = append(steps[s], d.later)
	}
	for s, some := range steps {
		failed, err := s.Hashes.Failed(ctx, some)
		if err != nil {
			return nil, err
		}
		for i, is := range failed {
			if is {
				all[some[i].String()] = true
			}
		}
	}
	return all, nil
}

// TellWaits corrects what it says of members whose step did not fail: they are no retries.
func (l DelayedSet) TellWaits(ctx context.Context, list []Delayed) error {
	var steps []Delayed
	for _, d := range list {
		if d.Retry() {
			steps = append(steps, d)
		}
	}
	failed, err := l.Failed(ctx, steps)
	if err != nil {
		return err
	}
	for i, d := range list {
		if d.Retry() && !failed[d.later.String()] {
			list[i].What = "poll of " + strings.TrimPrefix(d.What, "retry of ") + ", which waits"
		}
	}
	return nil
}

// List lists the members of the delayed set that match, the next one first, up to a limit
// (0: all).
func (l DelayedSet) List(ctx context.Context, match func(Delayed) bool, limit int) ([]Delayed, error) {
	now, err := l.o.Scripts.First().Now(ctx)
	if err != nil {
		return nil, err
	}
	order := func(a, b Delayed) int { return cmp.Compare(a.Score, b.Score) }
	return everywhere(l.o, limit, order, func(s *scripts.Scripts) ([]Delayed, error) {
		return collect(each(s.Sets.Pages(ctx, s.Keys.Delayed), func(m scripts.Member) Delayed {
			return NewDelayed(m.Name, m.Score, now)
		}), match, limit)
	})
}
