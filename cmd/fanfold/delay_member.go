package main

import (
	"math"
	"time"

	"github.com/fanfold/fanfold/scripts"
)

// Scores of the delayed set are milliseconds; below this they are seconds.
const leastMillis = 1e11

// delayed is a member of the delayed set.
type delayed struct {
	Member string     `json:"member"`
	ID     string     `json:"id,omitempty"`
	Due    *time.Time `json:"due,omitempty"` // nil: its score is no time
	In     string     `json:"in,omitempty"`  // how long it is until then; negative: overdue
	What   string     `json:"what"`
	Score  float64    `json:"-"`
	Bad    string     `json:"bad,omitempty"` // why it will never run

	later scripts.Later
}

// newDelayed explains a member.
func newDelayed(member string, score float64, now time.Time) delayed {
	d := delayed{Member: member, Score: score}
	var err error
	if d.later, err = scripts.ParseLater(member); err != nil {
		d.Bad, d.What = "means nothing: goes to the quarantine when it is due", "?"
	} else {
		d.ID, d.What = d.later.ID, whatLater(d.later)
	}
	millis := score
	if score < leastMillis {
		millis *= 1000
	}
	if math.IsNaN(score) || math.IsInf(score, 0) || millis >= scripts.NoTime || time.UnixMilli(int64(millis)).Sub(now) > scripts.Horizon {
		d.Bad = "its score is no time, or more than ten years away: goes to the quarantine"
		return d
	}
	due := time.UnixMilli(int64(millis))
	if millis < leastMillis {
		due = now // the scheduler takes it for that
	}
	d.Due, d.In = &due, due.Sub(now).Round(time.Second).String()
	return d
}

// whatLater says what happens when a member is due.
func whatLater(l scripts.Later) string {
	switch l.Step {
	case "":
		return "job"
	case scripts.StepTrigger:
		return "look for the record"
	case scripts.StepFanIn:
		return "retry of fan-in"
	case scripts.StepRecord:
		return "retry of the record"
	}
	return "retry of " + l.Step
}
