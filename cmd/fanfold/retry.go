package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/record"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
)

func newRetry(f *flags) *cobra.Command {
	var wait bool
	sweep := deadSweep{past: "pushed again"}
	c := &cobra.Command{
		Use:   "retry ID…|--all",
		Short: "Run records again that have a final status",
		Long: `Retry makes a SUCCESS, PARTIAL, FAILED or CANCELLED record PENDING and pushes its
id. The job gets the next attempt. A file of the last one stays until this one ends, and
is then removed, whatever comes of it: a rerun that fails or is cancelled leaves the record
without a file.

Each id is done by itself: one that is refused, since its job runs or its record or
report is not there, holds up no other, and the exit code is that of the worst.

With --all it does so for the jobs on the list of dead ones whose records are still
FAILED, the oldest of each partition first; a job that fails again meanwhile is not taken twice. That list
is in Redis and is lost with its memory: fanfold list --status failed shows the records.`,
		Args: cobra.ArbitraryArgs,
		RunE: f.withIDs(func(c *cobra.Command, b *backend, ids []string) error {
			if err := sweep.check(ids); err != nil {
				return err
			}
			if sweep.all && wait {
				return usage(errors.New("--wait goes with ids"))
			}
			if sweep.all {
				sweep.unable = b.unableToRetry
				return sweep.run(f, c, b, b.retryPage)
			}
			var pushed []string
			done, refused := each(ids, func(id string) (string, error) {
				if err := b.retry(c.Context(), id); err != nil {
					return "", err
				}
				pushed = append(pushed, id)
				return "pushed", nil
			})
			if !wait {
				return cmp.Or(f.printOutcomes(c, done), refused)
			}
			if len(pushed) == 0 {
				return refused
			}
			_, err := f.waitFor(c, b, pushed)
			return worst(refused, err)
		}),
	}
	c.Flags().BoolVar(&wait, "wait", false, "wait for the jobs to end")
	sweep.flags(c, "run all dead jobs again")
	return c
}

// errNotRetried is returned for a record that cannot run again.
var errNotRetried = errors.New("not run again")

// retry runs one record again.
func (b *backend) retry(ctx context.Context, id string) error {
	r, err := b.Inspect.Record(ctx, id)
	if err != nil {
		return err
	}
	if b.Config.Reports[r.Report] == nil {
		return fmt.Errorf("record %s: %w: report %q is not in the configuration", id, errNotRetried, r.Report)
	}
	// One that is PENDING was perhaps not pushed: a push too many does nothing.
	if r, err := b.Records.Retry(ctx, id); err != nil && r.Status != report.Pending {
		return b.stillRunning(ctx, id, err)
	}
	if err := b.Redis.ZRem(ctx, b.Partitions.Of(id).Keys.Dead(), id).Err(); err != nil {
		return err
	}
	return b.push(ctx, []string{id})
}

// stillRunning says the way out for a record that is not run again since its job runs.
func (b *backend) stillRunning(ctx context.Context, id string, err error) error {
	if !errors.Is(err, record.ErrRunning) {
		return err
	}
	if v, readErr := b.Inspect.Job(ctx, id); readErr == nil && v.Orphan {
		return fmt.Errorf("%w, and no process has the definition that it was started with: fanfold adopt %s restarts it with today's", err, id)
	}
	return fmt.Errorf("%w: fanfold why %s says what it waits for; fanfold cancel %s ends it, and then it can be retried", err, id, id)
}

// unableToRetry says why a dead job cannot run again. One that is PENDING was
// perhaps not pushed: a push too many does nothing.
func (b *backend) unableToRetry(j inspect.DeadJob) string {
	switch {
	case j.Status != report.Failed && j.Status != report.Pending:
		return j.Note
	case b.Config.Reports[j.Report] == nil:
		return "its report is not in the configuration"
	}
	return ""
}

// retryPage runs dead jobs again: a few statements and one round trip for all.
func (b *backend) retryPage(ctx context.Context, page []inspect.DeadJob) ([]bool, error) {
	runs := make([]engine.Run, len(page))
	for i, j := range page {
		runs[i] = engine.Run{ID: j.ID, Attempt: j.Attempt}
	}
	done, err := b.Records.RetryFailed(ctx, runs)
	if err != nil {
		return nil, err
	}
	_, err = b.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, j := range page {
			if done[i] {
				// In this order: a job that fails again at once is listed again.
				keys := b.Partitions.Of(j.ID).Keys
				p.ZRem(ctx, keys.Dead(), j.ID)
				p.XAdd(ctx, &redis.XAddArgs{Stream: keys.Jobs(), Values: []string{"id", j.ID}})
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("push: %w", err)
	}
	return done, nil
}
