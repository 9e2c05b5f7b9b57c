package dashboard

import (
	"fmt"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/scripts/job"
)

// timeline is a picture of when the steps of a job waited and worked, as an SVG: from the insertion of its record to
// its end, or to now.
type timeline struct {
	Start, End    time.Time
	Width, Height int
	Ticks         []tick
	Steps         []timedStep
	Marks         []mark
}

// tick is a time on the axis, after the start.
type tick struct {
	X    float64
	Text string
}

// timedStep is a row of the picture.
type timedStep struct {
	Name, Text string
	Y          int // of its middle
	Parts      []segment
}

// segment is a part of a step.
type segment struct {
	Class               string // wait, work, retry, done or failed
	X, Y, Width, Height float64
	Title               string
}

// mark is a moment that concerns all steps.
type mark struct {
	X     float64
	Class string // stage or deadline
	Title string
}

// The measures of the picture.
const (
	timeLabels  = 190 // width of the names
	timeWidth   = 620 // width of the axis
	timeRow     = 26
	timeTop     = 24 // height of the axis
	maxTicks    = 7
	maxTimeName = 24 // characters of a name
)

// The names of the steps that are no listeners.
const (
	stepQueue = "queue"
	stepFile  = "file"
)

// newTimeline draws a job; nil: it is not known when it started. A step waits from the start of its stage: the start of
// the job, or the time when all listeners of the previous stages were done.
func newTimeline(v inspect.Job, now time.Time) *timeline {
	if v.Started == nil {
		return nil
	}
	t := &timeline{Start: *v.Started, End: now, Width: timeLabels + timeWidth, Height: timeTop}
	t.Start = t.Start.Add(-v.Queued())
	if v.Status.Final() {
		t.End = time.Time{}
		for _, l := range v.Listeners {
			if l.Ended != nil {
				t.End = later(t.End, *l.Ended)
			}
		}
		if v.FanIn != nil && v.FanIn.Ended != nil {
			t.End = later(t.End, *v.FanIn.Ended)
		}
	}
	if !t.End.After(t.Start) {
		return nil
	}
	t.ticks()
	if v.Queued() > 0 {
		t.add(stepQueue, "waited "+words.Short(v.Queued()), part{"wait", t.Start, *v.Started})
	}
	stage := int64(1)
	for l, begin := range v.Course() {
		name := l.Name
		switch {
		case name == job.StepFanIn:
			name = stepFile
		case l.Stage > stage:
			stage = l.Stage
			t.mark("stage", begin, fmt.Sprintf("stage %d began after %s", stage, words.Short(begin.Sub(t.Start))))
		}
		t.step(name, l, begin, now)
	}
	if v.Deadline != nil && v.Deadline.Before(t.End) {
		t.mark("deadline", *v.Deadline, "deadline")
	}
	return t
}

// part is a time in which a step waited or worked.
type part struct {
	class    string
	from, to time.Time
}

// step adds a step from the start of its stage.
func (t *timeline) step(name string, l inspect.Listener, begin, now time.Time) {
	began := begin
	if l.Began != nil {
		began = later(begin, *l.Began)
	}
	var parts []part
	switch {
	case l.Reused > 0:
	case l.State == "omitted" && l.Ended != nil:
		parts = []part{{"failed", begin, *l.Ended}}
	case l.Ended != nil:
		class := "done"
		if l.AsOf != nil {
			class = "failed"
		}
		parts = []part{{"wait", begin, began}, {class, began, *l.Ended}}
	case l.Next != nil && l.Next.After(now) && !l.Waits:
		parts = []part{{"retry", begin, now}}
	case l.Began != nil && (l.Next == nil || !l.Next.After(now)):
		parts = []part{{"wait", begin, began}, {"work", began, now}}
	default:
		parts = []part{{"wait", begin, now}}
	}
	t.add(name, l.Took(begin, now), parts...)
}

// add adds a row with the parts that last.
func (t *timeline) add(name, text string, parts ...part) {
	s := timedStep{Name: name, Text: text, Y: t.Height + timeRow/2}
	t.Height += timeRow
	for _, p := range parts {
		x, end := t.x(p.from), t.x(p.to)
		if end <= x {
			continue
		}
		height := 14.0
		if p.class == "wait" || p.class == "retry" {
			height = 3 // told apart without colors, too
		}
		s.Parts = append(s.Parts, segment{
			Class: p.class, X: x, Y: float64(s.Y) - height/2, Width: max(1, end-x), Height: height,
			Title: fmt.Sprintf("%s: %s for %s, from %s to %s", name, p.class, words.Short(p.to.Sub(p.from)),
				words.Short(p.from.Sub(t.Start)), words.Short(p.to.Sub(t.Start))),
		})
	}
	t.Steps = append(t.Steps, s)
}

// mark adds a mark.
func (t *timeline) mark(class string, at time.Time, title string) {
	t.Marks = append(t.Marks, mark{t.x(at), class, title})
}

// x returns the place of a time.
func (t *timeline) x(at time.Time) float64 {
	part := at.Sub(t.Start).Seconds() / t.End.Sub(t.Start).Seconds()
	return timeLabels + timeWidth*min(max(part, 0), 1)
}

// tickSteps are the distances of ticks.
var tickSteps = []time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour,
}

// ticks adds the ticks: at most maxTicks, in the smallest distance.
func (t *timeline) ticks() {
	long := t.End.Sub(t.Start)
	for _, step := range tickSteps {
		if long/step >= maxTicks {
			continue
		}
		for at := time.Duration(0); at <= long; at += step {
			text := words.Short(at)
			if at == 0 {
				text = "0"
			}
			t.Ticks = append(t.Ticks, tick{t.x(t.Start.Add(at)), text})
		}
		return
	}
}

// When says when a step waited and worked; empty: it is not known, also for nil.
func (t *timeline) When(step string) string {
	if t == nil {
		return ""
	}
	for _, s := range t.Steps {
		if s.Name == step {
			return s.Text
		}
	}
	return ""
}

// Short returns the name of a step as it fits into the picture.
func (s timedStep) Short() string {
	if runes := []rune(s.Name); len(runes) > maxTimeName {
		return "…" + string(runes[len(runes)-maxTimeName+1:])
	}
	return s.Name
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
