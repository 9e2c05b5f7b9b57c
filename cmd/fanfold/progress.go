package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/fanfold/fanfold/engine"
)

// look is how often a waiting command looks at its jobs.
const look = 100 * time.Millisecond

// mostBars is how many jobs are shown with a bar for each listener.
const mostBars = 10

// wait waits until the records are final, and shows the rows of each listener on
// a terminal meanwhile.
func (b *backend) wait(ctx context.Context, ids []string, terminal io.Writer) (jobViews, error) {
	p := newProgress(ctx, terminal, len(ids))
	defer p.close()
	tick := time.NewTicker(look)
	defer tick.Stop()
	ended := map[string]jobView{}
	for waiting := ids; ; {
		var left []string
		for _, id := range waiting {
			v, err := b.waitView(ctx, id)
			if err != nil {
				return nil, goOn(ctx, err)
			}
			if len(ids) <= mostBars {
				p.show(v)
			}
			if v.Status.Final() { // DELETED, too
				ended[id] = v
			} else {
				left = append(left, id)
			}
		}
		if waiting = left; len(waiting) == 0 {
			break
		}
		for next := false; !next; {
			select {
			case <-ctx.Done():
				return nil, goOn(ctx, ctx.Err())
			case <-tick.C:
			}
			// One query for all, until one of them has ended or is to be shown.
			records, err := b.records.Read(ctx, waiting)
			if err != nil {
				return nil, goOn(ctx, err)
			}
			next = len(ids) <= mostBars
			for _, id := range waiting {
				r, ok := records[id]
				next = next || !ok || r.Status.Final()
			}
		}
	}
	var views jobViews
	for _, id := range ids {
		views = append(views, ended[id])
	}
	return views, nil
}

// deleted is the status that is shown for a record whose row has gone.
const deleted engine.Status = "DELETED"

// waitView is view, for a record that was there and may be deleted.
func (b *backend) waitView(ctx context.Context, id string) (jobView, error) {
	v, err := b.view(ctx, id)
	if errors.Is(err, engine.ErrNoRecord) {
		return jobView{ID: id, Status: deleted, Error: "the record was deleted"}, nil
	}
	return v, err
}

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
func (p *progress) look(v jobView) error {
	p.show(v)
	for _, text := range p.pauses.changes(v) {
		if _, err := fmt.Fprintln(p.all, v.ID, printable(text.says())); err != nil {
			return err
		}
	}
	return nil
}

// event shows nothing: the next look does.
func (p *progress) event(event) error { return nil }

// show brings the bars of a job up to date. How many rows a query will find is
// not known before its end: until then the bar only counts.
func (p *progress) show(v jobView) {
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
		bar.note.Store(new(l.note()))
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
func (v listenerView) note() string {
	text := suffix(", ", v.tried())
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
