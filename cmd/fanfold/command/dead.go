package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/moment"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/operate"
)

func newDead(f *flags) *cobra.Command {
	c := &cobra.Command{
		Use:   "dead",
		Short: "List failed jobs, and remove them from the list",
	}
	c.AddCommand(newDeadList(f), newDeadDiscard(f))
	return c
}

const (
	deadMatch  = "only jobs whose report or reason matches this pattern, such as '*timeout*'"
	deadReport = "only jobs of this report"
)

// deadFilter has the flags that select dead jobs.
type deadFilter struct {
	report       string
	since, until string // of the failure
	span         moment.Span
}

func (d *deadFilter) flags(c *cobra.Command) {
	c.Flags().StringVar(&d.report, "report", "", deadReport)
	c.Flags().StringVar(&d.since, "since", "", "only jobs that failed since then: 1d, noon, 09:30, yesterday, '2024-06-01 09:30', …")
	c.Flags().StringVar(&d.until, "until", "", "only jobs that failed before then")
}

// check parses the times.
func (d *deadFilter) check() error {
	span, end, err := moment.ParseSpan(d.since, d.until, time.Now(), time.Local)
	if err != nil {
		return fault.Input.New("--%s: %w", end, err)
	}
	d.span = span
	return nil
}

// selects reports whether a dead job is of the report (empty means any), failed in the span, and its report
// or reason matches.
func (d *deadFilter) selects(j inspect.DeadJob, matches func(string) bool) bool {
	return (d.report == "" || j.Report == d.report) && d.span.Has(j.When) && (matches(j.Report) || matches(j.Error))
}

func newDeadList(f *flags) *cobra.Command {
	var filter deadFilter
	c := newListing(f, "List dead jobs with their reasons, newest first", deadMatch,
		func(c *cobra.Command, b *backend, matches func(string) bool, limit int) error {
			if err := filter.check(); err != nil {
				return err
			}
			matching := func(j inspect.DeadJob) bool { return filter.selects(j, matches) }
			list, err := b.Inspect.Dead.List(c.Context(), matching, limit)
			if err != nil {
				return err
			}
			if err := printList(f.printer, c, list, table.Row{"id", "when", "report", "attempt", "reason"},
				func(j inspect.DeadJob) table.Row {
					reason := j.Error
					if j.Note != "" {
						reason = "(" + j.Note + ") " + reason
					}
					return table.Row{j.ID, words.Stamp(j.When), j.Report, j.Attempt, reason}
				}, table.ColumnConfig{Number: 5, WidthMax: 100}); err != nil {
				return err
			}
			return f.printCut(c, len(list), limit, func() (int64, error) {
				all, err := b.Inspect.Dead.List(c.Context(), matching, 0)
				return int64(len(all)), err
			})
		})
	filter.flags(c)
	return c
}

func newDeadDiscard(f *flags) *cobra.Command {
	sweep := deadSweep{past: "discarded"}
	c := &cobra.Command{
		Use:   "discard ID…|--all",
		Short: "Remove jobs from the list of dead jobs",
		Long: `Discard removes jobs from the list of dead jobs. Their records stay FAILED, and you can
still run them again with fanfold retry.`,
		Args: cobra.ArbitraryArgs,
		RunE: f.connected(func(c *cobra.Command, b *backend, ids []string) error {
			if err := sweep.check(ids); err != nil {
				return err
			}
			if sweep.all {
				return sweep.run(f, c, b.Operate.Dead.Discard)
			}
			for _, id := range ids {
				if err := b.Operate.Dead.Remove(c.Context(), id); errors.Is(err, fault.NotFound) {
					return fmt.Errorf("%w; the ids before it were discarded", err)
				} else if err != nil {
					return err
				}
			}
			return f.printChanged(c, "discarded", ids)
		}),
	}
	sweep.flags(c, "discard all jobs on the list")
	return c
}

// deadSweep has the flags of a command that can change all dead jobs.
type deadSweep struct {
	match  string // a glob for the report or the reason
	filter deadFilter
	all    bool
	dryRun bool
	limit  int
	past   string // the change, in the past tense
}

func (d *deadSweep) flags(c *cobra.Command, what string) {
	c.Flags().StringVar(&d.match, "match", "", deadMatch)
	d.filter.flags(c)
	c.Flags().BoolVar(&d.all, "all", false, what)
	c.Flags().BoolVar(&d.dryRun, "dry-run", false, "with --all: print what would change, and change nothing")
	c.Flags().IntVar(&d.limit, "limit", 0, "with --all: maximum number of jobs; 0 means all")
}

// check verifies that the user gave either ids or --all.
func (d *deadSweep) check(ids []string) error {
	switch {
	case d.all && len(ids) > 0:
		return fault.Input.New("give ids or --all, not both")
	case !d.all && len(ids) == 0:
		return fault.Input.New("give ids, or --all")
	case !d.all && (d.match != "" || d.filter.report != "" || d.filter.since != "" || d.filter.until != "" ||
		d.dryRun || d.limit != 0):
		return fault.Input.New("--match, --report, --since, --until, --dry-run and --limit require --all")
	case d.limit < 0:
		return fault.Input.New("--limit: %d is less than 0", d.limit)
	}
	return d.filter.check()
}

// run changes the selected dead jobs and prints the result, also of an incomplete run.
func (d *deadSweep) run(f *flags, c *cobra.Command,
	change func(context.Context, operate.Sweep) (operate.Swept, error)) error {
	matches, err := glob(d.match)
	if err != nil {
		return err
	}
	done, err := change(c.Context(), operate.Sweep{
		Match: func(j inspect.DeadJob) bool { return d.filter.selects(j, matches) }, Limit: d.limit, DryRun: d.dryRun,
		Of: strings.TrimSpace(d.filter.report + " " + d.match),
	})
	return errors.Join(f.printSwept(c, done, d.past, d.dryRun), err)
}
