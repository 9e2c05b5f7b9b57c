package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/inspect/show"
	"github.com/fanfold/fanfold/internal/screen"
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
		RunE: f.withIDs(func(c *cobra.Command, b *backend, ids []string) error {
			if err := due.check(wait); err != nil {
				return err
			}
			if err := b.checkRecords(c.Context(), ids); err != nil {
				return fmt.Errorf("nothing is pushed: %w", err)
			}
			if due.given() {
				list, err := b.delay(c.Context(), ids, due)
				if err != nil {
					return err
				}
				return f.printDelayed(c, list)
			}
			if err := b.push(c.Context(), ids); err != nil {
				return err
			}
			if wait {
				_, err := f.waitFor(c, b, ids)
				return err
			}
			return f.printNames(c, "pushed", ids)
		}),
	}
	c.Flags().BoolVar(&wait, "wait", false, "wait for the jobs to end")
	c.Flags().Var((*span)(&due.in), "in", "due after a while, such as 10m or 1d, by Redis's clock")
	c.Flags().StringVar(&due.at, "at", "", "due at a time: 2024-06-01T09:30:00+02:00, '2024-06-01 09:30' (local), unix seconds or milliseconds")
	return c
}

// checkRecords proves that each id has a record of a known report without a final status.
func (b *backend) checkRecords(ctx context.Context, ids []string) error {
	records, err := b.Inspect.Records(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if r := records[id]; b.Config.Reports[r.Report] == nil {
			return fmt.Errorf("record %s: report %q is not in the configuration", id, r.Report)
		} else if !r.Status.Known() {
			return fmt.Errorf("record %s has the unknown status %q: set it to PENDING, or map it under records.statuses", id, r.Status)
		} else if r.Status.Final() {
			return fmt.Errorf("record %s is %s: fanfold retry %s runs it again", id, r.Status, id)
		}
	}
	return nil
}

// push appends ids to the stream of jobs.
func (b *backend) push(ctx context.Context, ids []string) error {
	_, err := b.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, id := range ids {
			p.XAdd(ctx, &redis.XAddArgs{Stream: b.Partitions.Of(id).Keys.Jobs(), Values: []string{"id", id}})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("push: %w; some of the ids may have been pushed: submit all of them again, each counts once", err)
	}
	return nil
}

// delay puts ids into the delayed set.
func (b *backend) delay(ctx context.Context, ids []string, due later) ([]inspect.Delayed, error) {
	now, err := b.Partitions.Home().Now(ctx)
	if err != nil {
		return nil, err
	}
	score := float64(due.from(now).UnixMilli())
	var list []inspect.Delayed
	for page := range slices.Chunk(ids, scanPage) {
		_, err := b.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, id := range page {
				p.ZAdd(ctx, b.Partitions.Of(id).Keys.Delayed(), redis.Z{Score: score, Member: id})
				list = append(list, inspect.NewDelayed(id, score, now))
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("delay: %w; some of the ids may have been delayed: submit all of them again, each counts once", err)
		}
	}
	return list, nil
}

// waitFor waits for what was pushed, and prints what became of it.
func (f *flags) waitFor(c *cobra.Command, b *backend, ids []string) (jobViews, error) {
	errOut := c.ErrOrStderr()
	wait := func() (jobViews, error) { return b.awaited(c.Context(), ids, errOut) }
	if f.output == "table" && !screen.OnTerminal(errOut) && len(ids) <= show.MaxBars {
		wait = func() (jobViews, error) { return b.watched(c.Context(), ids, show.NewLines(errOut, false)) }
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
