package main

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/fanfold/fanfold/inspect"
)

// mostBars is how many jobs are shown with a bar for each listener.
const mostBars = 10

// progress is a bar for each listener of each job.
type progress struct {
	all   *mpb.Progress
	bars  map[string]*listenerBar
	named bool // by job, as there are several

	pauses pauses
}

type listenerBar struct {
	*mpb.Bar
	note atomic.Pointer[string] // stands behind the rows
}

func newProgress(ctx context.Context, terminal io.Writer, jobs int) *progress {
	return &progress{
		bars: map[string]*listenerBar{}, named: jobs > 1, pauses: pauses{},
		all: mpb.NewWithContext(ctx, mpb.WithOutput(beneath(terminal)), mpb.WithWidth(24)),
	}
}

// look is show, for a watcher. Pauses are lines above the bars.
func (p *progress) Look(v inspect.Job) error {
	p.show(v)
	for _, text := range p.pauses.changes(v) {
		if _, err := fmt.Fprintln(p.all, v.ID, printable(text.says())); err != nil {
			return err
		}
	}
	return nil
}

// event shows nothing: the next look does.
func (p *progress) Event(inspect.Event) error { return nil }

// show brings the bars of a job up to date. How many rows a query will find is
// not known before its end: until then the bar only counts.
func (p *progress) show(v inspect.Job) {
	for _, l := range v.Listeners {
		name := printable(l.Name)
		if p.named {
			name = v.ID + " " + name
		}
		bar := p.bars[name]
		if bar == nil {
			bar = &listenerBar{}
			bar.note.Store(new(""))
			bar.Bar = p.all.AddBar(0,
				mpb.PrependDecorators(decor.Name(name, decor.WCSyncSpaceR)),
				mpb.AppendDecorators(decor.CurrentNoUnit("%d rows"), decor.Any(func(decor.Statistics) string { return *bar.note.Load() })))
			p.bars[name] = bar
		}
		bar.note.Store(new(note(l)))
		bar.SetCurrent(l.Rows)
		switch l.State {
		case "omitted":
			bar.Abort(false)
		case "done":
			bar.SetTotal(max(l.Rows, 1), false)
			bar.SetCurrent(max(l.Rows, 1))
			bar.SetTotal(-1, true)
		default:
			bar.SetTotal(l.Rows+l.Rows/2+1, false)
		}
	}
}

// note says what a bar does not show.
func note(v inspect.Listener) string {
	text := suffix(", ", tried(v))
	switch {
	case v.State == "waiting" && v.Next != nil:
		text += ", waits until " + v.Next.Local().Format(time.TimeOnly) + suffix(": ", printable(v.Why))
	case v.State != "running":
		text = " " + v.State + text
	}
	return text
}

// close leaves the bars as they stand.
func (p *progress) close() {
	for _, b := range p.bars {
		b.Abort(false)
	}
	p.all.Wait()
}
