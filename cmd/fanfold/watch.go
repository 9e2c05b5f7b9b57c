package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/spf13/cobra"
)

func newWatch(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "watch ID…",
		Short: "Show what jobs do, until they end",
		Long: `Watch follows jobs that somebody has pushed, or will push, until their records are
final, and changes nothing. On a terminal it shows a bar for each listener of up to
10 jobs; of more, and elsewhere, a line for each change, with -o json as JSON. It ends
with 0 where each job has made a file, and with 4 where one has not.`,
		Args: cobra.MinimumNArgs(1),
		RunE: f.connected(func(c *cobra.Command, b *backend, ids []string) error {
			for _, id := range ids {
				if !report.ValidID(id) {
					return usage(notID(id))
				}
			}
			slices.Sort(ids)
			ids = slices.Compact(ids)
			records, err := b.records.Read(c.Context(), ids)
			if err != nil {
				return err
			}
			for _, id := range ids {
				if r, ok := records[id]; !ok || r.ID != id {
					return b.noRecord(id)
				}
			}
			out := c.OutOrStdout()
			if showsBars(onTerminal(out), f.output, len(ids)) {
				bars := newProgress(c.Context(), out, len(ids))
				views, err := b.watch(c.Context(), ids, bars)
				bars.close()
				if err != nil {
					return err
				}
				if err := f.print(out, views); err != nil {
					return err
				}
				return views.failed()
			}
			views, err := b.watch(c.Context(), ids, newLines(out, f.output == "json"))
			if err != nil {
				return err
			}
			return views.failed()
		}),
	}
}

// showsBars tells whether so many jobs are shown as bars, or as lines.
func showsBars(terminal bool, output string, jobs int) bool {
	return terminal && output == "table" && jobs <= mostBars
}

// watcher is shown what becomes of jobs.
type watcher interface {
	// look shows how a job stands, which may be as it was before.
	look(v jobView) error
	// event shows what was told of a job.
	event(e event) error
}

const (
	// lookAtLeast is how often jobs are looked at of which nothing is told: events
	// can be trimmed, and the rows of a listener that runs are none.
	lookAtLeast = 500 * time.Millisecond
	// mostLooked is how many jobs are looked at each time. Of more, only those are of
	// which something was told; that records are final is seen in one query.
	mostLooked = mostBars
)

// watch follows jobs until their records are final.
func (b *backend) watch(ctx context.Context, ids []string, show watcher) (jobViews, error) {
	follow, err := b.follow(ctx)
	if err != nil {
		return nil, goOn(ctx, err)
	}
	ended, ours := map[string]jobView{}, map[string]bool{}
	for _, id := range ids {
		ours[id] = true
	}
	told := ids
	for first := true; ; first = false {
		var waiting []string
		for _, id := range ids {
			if _, ok := ended[id]; !ok {
				waiting = append(waiting, id)
			}
		}
		if len(waiting) > mostLooked && !first {
			// One query tells which have ended.
			records, err := b.records.Read(ctx, waiting)
			if err != nil {
				return nil, goOn(ctx, err)
			}
			waiting = slices.DeleteFunc(waiting, func(id string) bool {
				r, ok := records[id]
				return ok && !r.Status.Final() && !slices.Contains(told, id)
			})
		}
		for _, id := range waiting {
			v, err := b.waitView(ctx, id)
			if err != nil {
				return nil, goOn(ctx, err)
			}
			if err := show.look(v); err != nil {
				return nil, err
			}
			if v.Status.Final() { // DELETED, too
				ended[id] = v
			}
		}
		if len(ended) == len(ids) {
			break
		}
		if told, err = follow.next(ctx, lookAtLeast, func(e event) (bool, error) {
			if _, final := ended[e.ID]; final || !ours[e.ID] {
				return false, nil
			}
			return true, show.event(e)
		}); err != nil {
			return nil, goOn(ctx, err)
		}
	}
	var views jobViews
	for _, id := range ids {
		views = append(views, ended[id])
	}
	return views, nil
}

// goOn says that what ended is only the looking: by a signal, where there was one,
// whatever it has interrupted.
func goOn(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return fmt.Errorf("%w\nThe jobs go on; ask fanfold status", err)
}
