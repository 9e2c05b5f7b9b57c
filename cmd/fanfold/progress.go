package main

import (
	"context"
	"fmt"
	"io"
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
	p := &progress{
		bars: map[string]*mpb.Bar{}, named: len(ids) > 1,
		all: mpb.NewWithContext(ctx, mpb.WithOutput(terminal), mpb.WithWidth(24)),
	}
	defer p.close()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for waiting := ids; ; {
		records, err := b.records.Read(ctx, waiting)
		if err != nil {
			return nil, err
		}
		var left []string
		for _, id := range waiting {
			r, ok := records[id]
			if !ok {
				return nil, fmt.Errorf("%w any more: %s", engine.ErrNoRecord, id)
			}
			if !r.Status.Final() {
				left = append(left, id)
			}
		}
		if waiting = left; len(waiting) == 0 {
			break
		}
		if len(ids) <= mostBars {
			for _, id := range waiting {
				v, err := b.view(ctx, id)
				if err != nil {
					return nil, err
				}
				p.show(v)
			}
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
	var views jobViews
	for _, id := range ids {
		v, err := b.view(ctx, id)
		if err != nil {
			return nil, err
		}
		if len(ids) <= mostBars {
			p.show(v)
		}
		views = append(views, v)
	}
	return views, nil
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
