package dashboard

import (
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/words"
)

// lane shows when a step of a job waited and worked. All lanes of a job have one scale, from its start until
// now.
type lane struct {
	Text  string
	Parts []segment
}

// segment is a part of a lane, in a picture of 100 × 10 units.
type segment struct {
	Class               string // wait, work, retry or done
	X, Y, Width, Height float64
}

// lanes draws the steps of a running job. A step waits from the start of its stage: the start of the job, or
// the time when all listeners of the previous stages were done.
func lanes(v inspect.Job, now time.Time) map[string]lane {
	if v.Started == nil || v.Status.Final() || !now.After(*v.Started) {
		return nil
	}
	all, begin := map[string]lane{}, map[int64]time.Time{}
	for _, l := range v.Listeners {
		if l.Ended != nil {
			for stage := l.Stage + 1; stage <= v.Stage+1; stage++ {
				begin[stage] = later(begin[stage], *l.Ended)
			}
		}
	}
	steps := v.Listeners
	if v.FanIn != nil {
		begin[-1] = begin[v.Stage+1]
		one := *v.FanIn
		one.Stage = -1
		steps = append(steps[:len(steps):len(steps)], one)
	}
	for _, l := range steps {
		if l.Stage > v.Stage {
			continue
		}
		all[l.Name] = laneOf(l, *v.Started, later(*v.Started, begin[l.Stage]), now)
	}
	return all
}

// laneOf draws a step from the start of its stage (begin), on the scale from start to now.
func laneOf(l inspect.Listener, start, begin, now time.Time) (drawn lane) {
	add := func(class string, from, to time.Time, thin bool) {
		scale := 100 / now.Sub(start).Seconds()
		s := segment{Class: class, X: from.Sub(start).Seconds() * scale, Height: 10}
		if s.Width = to.Sub(from).Seconds() * scale; s.Width <= 0 {
			return
		}
		if thin {
			s.Y, s.Height = 4, 2
		}
		drawn.Parts = append(drawn.Parts, s)
	}
	switch {
	case l.Origin(now) != "":
		drawn.Text = l.Origin(now)
	case l.Ended != nil && l.Began != nil:
		began := later(begin, *l.Began)
		add("wait", begin, began, true)
		add("done", began, *l.Ended, false)
		drawn.Text = "waited " + words.Short(began.Sub(begin)) + ", took " + words.Short(l.Ended.Sub(began))
	case l.Next != nil && l.Next.After(now) && l.Waits:
		add("wait", begin, now, true)
		drawn.Text = "waiting for " + words.Short(now.Sub(begin)) + ", next poll " + words.When(*l.Next, now)
	case l.Next != nil && l.Next.After(now):
		add("retry", begin, now, true)
		drawn.Text = "is retried " + words.When(*l.Next, now)
	case l.Began != nil:
		began := later(begin, *l.Began)
		add("wait", begin, began, true)
		add("work", began, now, false)
		drawn.Text = "waited " + words.Short(began.Sub(begin)) + ", running for " + words.Short(now.Sub(began))
	default:
		add("wait", begin, now, true)
		drawn.Text = "waiting for " + words.Short(now.Sub(begin))
	}
	return drawn
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
