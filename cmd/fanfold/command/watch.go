package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/cmd/fanfold/show"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/inspect/watch"
	"github.com/fanfold/fanfold/inspect/why"
	"github.com/fanfold/fanfold/internal/screen"
	"github.com/fanfold/fanfold/report"
)

func newWatch(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "watch ID…",
		Short: "Follow jobs until they end",
		Long: `Watch follows jobs until their records are final, and changes nothing. You can start it
before the ids are pushed. On a terminal, it shows a bar for every listener of up to 10
jobs. Otherwise it prints a line for every change, or JSON with -o json. The exit code is
0 if every job has made a file, and 4 if one has not, or its id was quarantined.`,
		Args: cobra.MinimumNArgs(1),
		RunE: f.withIDs(func(c *cobra.Command, b *backend, ids []string) error {
			slices.Sort(ids)
			ids = slices.Compact(ids)
			if err := b.warnUnserved(c, ids...); err != nil {
				return err
			}
			if err := b.warnQuarantined(c, ids); err != nil {
				return err
			}
			out := c.OutOrStdout()
			if showsBars(screen.OnTerminal(out), f.output, len(ids)) {
				views, err := b.await(c.Context(), ids, out)
				if err == nil {
					err = views.print(f, c)
				}
				return cmp.Or(err, views.failed())
			}
			views, err := b.watch(c.Context(), ids, show.NewLines(out, f.output == "json"))
			if err != nil {
				return err
			}
			return views.failed()
		}),
	}
}

// warnQuarantined prints a warning for every PENDING record whose id is quarantined. It skips long lists
// of ids.
func (b *backend) warnQuarantined(c *cobra.Command, ids []string) error {
	records, err := b.Inspect.Jobs.Records(c.Context(), ids)
	if err != nil || len(ids) > show.MaxBars {
		return err
	}
	for _, id := range ids {
		if records[id].Status != report.Pending {
			continue
		}
		v, err := why.Of(c.Context(), b.Inspect, id)
		if err != nil {
			return err
		}
		if v.Kind == why.KindQuarantined {
			c.PrintErrf("record %s: %s fanfold why %s says what to do\n", id, v.Summary, id)
		}
	}
	return nil
}

// showsBars reports whether this number of jobs is shown as bars instead of lines.
func showsBars(terminal bool, output string, jobs int) bool {
	return terminal && output == "table" && jobs <= show.MaxBars
}

// watch follows jobs until their records are final.
func (b *backend) watch(ctx context.Context, ids []string, show watch.Watcher) (jobViews, error) {
	views, err := watch.Jobs(ctx, b.Inspect, ids, show)
	if err != nil {
		return nil, stillRunning(ctx, err)
	}
	return views, nil
}

// await waits until the records are final. If w is a terminal, it draws progress bars meanwhile.
func (b *backend) await(ctx context.Context, ids []string, w io.Writer) (jobViews, error) {
	file, width := screen.Terminal(w)
	if file == nil {
		return b.watch(ctx, ids, silent{})
	}
	bars := show.NewBars(file, width, len(ids), screen.Colours())
	defer bars.Close()
	return b.watch(ctx, ids, bars)
}

// silent shows nothing.
type silent struct{}

// Show implements watch.Watcher.
func (silent) Show(inspect.Job) error { return nil }

// Event implements watch.Watcher.
func (silent) Event(watch.Event) error { return nil }

// stillRunning adds to the error of an interrupted watch that its jobs continue. If ctx has ended, its
// cause replaces the error.
func stillRunning(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return fmt.Errorf("%w\nThe jobs continue; check them with fanfold status", err)
}
