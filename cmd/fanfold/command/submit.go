package command

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/cmd/fanfold/show"
	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/screen"
	"github.com/fanfold/fanfold/operate/backfill"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/trace"
)

func newSubmit(f *flags) *cobra.Command {
	var wait bool
	var due dueFlags
	var fill backfillFlags
	c := &cobra.Command{
		Use:   "submit ID…|REPORT",
		Short: "Push record ids, as a service does with XADD, or run a report for every day of a range",
		Long: `Submit pushes the ids of existing records. It does the same as

    redis-cli XADD fanfold:jobs '*' id 1111

and first checks that the records exist. With --wait, it shows the progress of every
listener until the jobs end; the exit code is 4 if a job failed or an id was quarantined.
With --in or --at, the ids wait in fanfold:delayed until they are due; fanfold delay ls
lists them.

With --each-day, --each-week or --each-month, submit creates a record of a report for every
period of a range, and waits for the jobs. Both ends of the range belong to it:

    fanfold submit daily-orders --each-day 2024-01-01..2024-03-31

The first day of the period goes into the report's only parameter of type date, or the first
and the last day into its only two; --as names others. At most --running of the jobs run at
once, so other people's jobs do not wait. If a record with the same parameters exists, submit
creates no other one: after an interruption, the same command goes on. The exit code is 4 if
a period has no file in the end.

With TRACEPARENT in the environment, the jobs continue that trace.`,
		Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: func(c *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
			if fill.given(c) {
				return f.complete((*config.Config).ReportNames)(c, args, begin)
			}
			return f.completeFrom(records(report.Pending))(c, args, begin)
		},
	}
	backfill := f.connected(func(c *cobra.Command, b *backend, args []string) error { return fill.run(f, c, b, args) })
	submit := f.withIDs(func(c *cobra.Command, b *backend, ids []string) error {
		if err := cmp.Or(fill.unused(c), due.check(wait)); err != nil {
			return err
		}
		if err := b.Operate.Jobs.Check(c.Context(), ids); err != nil {
			return fmt.Errorf("nothing was pushed: %w%s", err, hintOfReport(b.Config.Reports[ids[0]]))
		}
		if due.given() {
			if err := b.Operate.Delayed.Check(c.Context(), ids); err != nil {
				return fmt.Errorf("nothing was delayed: %w", err)
			}
			return delay(f, c, b, ids, due)
		}
		if err := b.Operate.Jobs.Push(callerContext(c), ids...); err != nil {
			return err
		}
		if err := b.warnUnserved(c, ids...); err != nil {
			return err
		}
		if wait {
			_, err := f.waitFor(c, b, ids)
			return err
		}
		return f.printNames(c, "pushed", ids)
	})
	c.RunE = func(c *cobra.Command, args []string) error {
		if fill.given(c) {
			return backfill(c, args)
		}
		return submit(c, args)
	}
	c.Flags().BoolVar(&wait, "wait", false, "wait for the jobs to end")
	c.Flags().Var((*durationValue)(&due.in), "in", "due after this time, such as 10m or 1d, by the clock of Redis")
	c.Flags().StringVar(&due.at, "at", "",
		"due at a time: 2024-06-01T09:30:00+02:00, '2024-06-01 09:30' (in this machine's time zone), unix seconds or milliseconds")
	fill.add(c)
	f.completeParam(c)
	return c
}

// hintOfReport says how to run a report whose name is given as an id; empty for nil.
func hintOfReport(r *report.Report) string {
	if r == nil {
		return ""
	}
	hint := "\n" + r.Name + " is a report: fanfold run " + r.Name + " runs it"
	if _, err := backfill.Dates(r, nil); err == nil {
		hint += ", and --each-day FIRST..LAST for every day of a range"
	}
	return hint
}

// warnUnserved prints a warning if no running process has the definition of a PENDING record's report.
func (b *backend) warnUnserved(c *cobra.Command, ids ...string) error {
	records, err := b.Inspect.Jobs.Records(c.Context(), ids)
	if err != nil {
		return err
	}
	reports := map[string]bool{}
	for _, r := range records {
		if r.Status == report.Pending && b.Config.Reports[r.Report] != nil {
			reports[r.Report] = true
		}
	}
	return b.warnUnservedReports(c, slices.Sorted(maps.Keys(reports))...)
}

// warnUnservedReports prints a warning for every report whose definition no running process has.
func (b *backend) warnUnservedReports(c *cobra.Command, reports ...string) error {
	for _, name := range reports {
		if unserved, err := b.Operate.Jobs.Unserved(c.Context(), name); err != nil {
			return err
		} else if unserved {
			c.PrintErrf("warning: no running process has this definition of %s: restart fanfold serve\n", name)
		}
	}
	return nil
}

// callerContext returns the context of a push, with the trace in $TRACEPARENT if that is set.
func callerContext(c *cobra.Command) context.Context {
	return trace.WithParent(c.Context(), os.Getenv("TRACEPARENT"))
}

// delay adds ids to the delayed set and prints them.
func delay(f *flags, c *cobra.Command, b *backend, ids []string, due dueFlags) error {
	now, err := b.Partitions.First().Now(c.Context())
	if err != nil {
		return err
	}
	at := due.from(now)
	if err := b.Operate.Delayed.Add(c.Context(), ids, at); err != nil {
		return err
	}
	var list []inspect.Delayed
	for _, id := range ids {
		list = append(list, inspect.NewDelayed(id, float64(at.UnixMilli()), now))
	}
	return f.printDelayed(c, list)
}

// waitFor waits until pushed jobs end and prints their results.
func (f *flags) waitFor(c *cobra.Command, b *backend, ids []string) (jobViews, error) {
	errOut := c.ErrOrStderr()
	wait := func() (jobViews, error) { return b.await(c.Context(), ids, errOut) }
	if f.output == "table" && !screen.OnTerminal(errOut) && len(ids) <= show.MaxBars {
		wait = func() (jobViews, error) { return b.watch(c.Context(), ids, show.NewLines(errOut, false)) }
	}
	views, err := wait()
	if err != nil {
		return nil, err
	}
	if err := views.print(f, c); err != nil {
		return nil, err
	}
	return views, views.failed()
}
