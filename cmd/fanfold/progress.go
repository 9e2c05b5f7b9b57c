package main

import (
	"context"
	"io"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// look is how often a waiting command looks at its jobs.
const look = 100 * time.Millisecond

// wait waits until the records are final, and shows the rows of each listener on
// a terminal meanwhile.
func (b *backend) wait(ctx context.Context, ids []string, terminal io.Writer) (jobViews, error) {
	p := &progress{bars: map[string]*mpb.Bar{}, named: len(ids) > 1,
		all: mpb.NewWithContext(ctx, mpb.WithOutput(terminal), mpb.WithWidth(24))}
	defer p.close()
	final := map[string]jobView{}
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		for _, id := range ids {
			if _, ok := final[id]; ok {
				continue
			}
			v, err := b.view(ctx, id)
			if err != nil {
				return nil, err
			}
			p.show(v)
			if v.Status.Final() {
				final[id] = v
			}
		}
		if len(final) == len(ids) {
			var views jobViews
			for _, id := range ids {
				views = append(views, final[id])
			}
			return views, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// progress is a bar for each listener of each job.
type progress struct {
	all   *mpb.Progress
	bars  map[string]*mpb.Bar
	named bool // by job, as there are several
}

// show brings the bars of a job up to date. How many rows a query will find is
// not known before its end: until then the bar only counts.
func (p *progress) show(v jobView) {
	for _, l := range v.Listeners {
		name := l.Name
		if p.named {
			name = v.ID + " " + name
		}
		bar := p.bars[name]
		if bar == nil {
			bar = p.all.AddBar(0,
				mpb.PrependDecorators(decor.Name(name, decor.WCSyncSpaceR)),
				mpb.AppendDecorators(decor.CurrentNoUnit("%d rows"), decor.OnComplete(decor.Name(""), " done")))
			p.bars[name] = bar
		}
		bar.SetCurrent(l.Rows)
		if l.State == "done" {
			bar.SetTotal(max(l.Rows, 1), false)
			bar.SetCurrent(max(l.Rows, 1))
			bar.SetTotal(-1, true)
		} else {
			bar.SetTotal(l.Rows+l.Rows/2+1, false)
		}
	}
}

// close leaves the bars as they stand.
func (p *progress) close() {
	for _, b := range p.bars {
		b.Abort(false)
	}
	p.all.Wait()
}
