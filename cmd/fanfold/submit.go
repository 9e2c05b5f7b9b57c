package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
)

func newSubmit(f *flags) *cobra.Command {
	var wait bool
	var due later
	c := &cobra.Command{
		Use:   "submit ID…",
		Short: "Push record ids, as a service does with XADD",
		Long: `Submit pushes the ids of records that are there. It does the same as
  redis-cli XADD fanfold:jobs '*' id 1111
and looks first whether the records exist. With --wait it shows the progress of
each listener and ends with the jobs: 4 is its exit code if one failed. With --in
or --at the ids are due later, in fanfold:delayed: see fanfold delay ls.`,
		Args: cobra.MinimumNArgs(1),
		RunE: f.connected(func(c *cobra.Command, b *backend, ids []string) error {
			at, err := due.check(wait, time.Local)
			if err != nil {
				return err
			}
			if err := b.checkIDs(c.Context(), ids); err != nil {
				return err
			}
			if due.given() {
				list, err := b.delay(c.Context(), ids, at, due.in)
				if err != nil {
					return err
				}
				return f.print(c.OutOrStdout(), list)
			}
			if err := b.push(c.Context(), ids); err != nil {
				return err
			}
			if wait {
				return f.waitFor(c, b, ids)
			}
			return f.print(c.OutOrStdout(), pushed(ids))
		}),
	}
	c.Flags().BoolVar(&wait, "wait", false, "wait for the jobs to end")
	c.Flags().Var((*span)(&due.in), "in", "due after a while, such as 10m or 1d, by Redis's clock")
	c.Flags().StringVar(&due.at, "at", "", "due at a time: 2024-06-01T09:30:00+02:00, '2024-06-01 09:30' (local), unix seconds or milliseconds")
	return c
}

// checkIDs proves that each id is one and has a record of a known report without a
// final status.
func (b *backend) checkIDs(ctx context.Context, ids []string) error {
	for _, id := range ids {
		if !report.ValidID(id) {
			return usage(notID(id))
		}
	}
	records, err := b.records.Read(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if r, ok := records[id]; !ok || r.ID != id {
			return b.inspect.NoRecord(id)
		} else if b.config.Reports[r.Report] == nil {
			return fmt.Errorf("record %s: report %q is not in the configuration", id, r.Report)
		} else if !r.Status.Known() {
			return fmt.Errorf("record %s has the unknown status %q: set it to PENDING, or map it under records.statuses", id, r.Status)
		} else if r.Status.Final() {
			return fmt.Errorf("record %s is %s: fanfold retry %s runs it again", id, r.Status, id)
		}
	}
	return nil
}

func notID(id string) error {
	return fmt.Errorf("%.80q is no id: 1 to 64 of 0-9, A-Z, a-z, _ and -", id)
}

// push appends ids to the stream of jobs.
func (b *backend) push(ctx context.Context, ids []string) error {
	_, err := b.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, id := range ids {
			p.XAdd(ctx, &redis.XAddArgs{Stream: b.scripts.Jobs(), Values: []string{"id", id}})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("push: %w", err)
	}
	return nil
}

// waitFor waits for what was pushed, and prints what became of it.
func (f *flags) waitFor(c *cobra.Command, b *backend, ids []string) error {
	errOut := c.ErrOrStderr()
	wait := func() (jobViews, error) { return b.awaited(c.Context(), ids, errOut) }
	if f.output == "table" && !onTerminal(errOut) && len(ids) <= maxBars {
		wait = func() (jobViews, error) { return b.watched(c.Context(), ids, newLines(errOut, false)) }
	}
	views, err := wait()
	if err != nil {
		return err
	}
	if err := f.print(c.OutOrStdout(), views); err != nil {
		return err
	}
	return views.failed()
}

// pushed are ids that went into the stream.
type pushed []string

func (p pushed) table(t table.Writer) {
	t.AppendHeader(table.Row{"pushed"})
	for _, id := range p {
		t.AppendRow(table.Row{id})
	}
}

// jobViews are jobs in a list.
type jobViews []inspect.Job

func (vs jobViews) table(t table.Writer) {
	t.AppendHeader(table.Row{"id", "report", "status", "attempt", "file (error)"})
	for _, v := range vs {
		t.AppendRow(table.Row{v.ID, v.Report, v.Status, v.Attempt, about(v)})
	}
}

// about is the file, the error, or both.
func about(v inspect.Job) string {
	if v.File != "" && v.Error != "" {
		return v.File + " (" + v.Error + ")"
	}
	return v.File + v.Error
}

// failed is the error of jobs that have not made a file.
func (vs jobViews) failed() error {
	var n int
	for _, v := range vs {
		if !v.Status.HasFile() {
			n++
		}
	}
	if n > 0 {
		return jobFailed(fmt.Errorf("%d of %d jobs failed", n, len(vs)))
	}
	return nil
}
