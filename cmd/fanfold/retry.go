package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/engine"
)

func newRetry(f *flags) *cobra.Command {
	var wait bool
	sweep := deadSweep{past: "pushed again"}
	c := &cobra.Command{
		Use:   "retry ID…|--all",
		Short: "Run records again that have a final status",
		Long: `Retry makes a SUCCESS, PARTIAL, FAILED or CANCELLED record PENDING and pushes its
id. The job gets the next attempt; the file of the last one is removed when the new one
is there.

With --all it does so for the jobs on the list of dead ones whose records are still
FAILED, the oldest first; a job that fails again meanwhile is not taken twice.`,
		RunE: f.connected(func(c *cobra.Command, b *backend, ids []string) error {
			if err := sweep.check(ids); err != nil {
				return err
			}
			if sweep.all && wait {
				return usage(errors.New("--wait goes with ids"))
			}
			if sweep.all {
				sweep.unable = b.unableToRetry
				return f.sweep(c, b, sweep, b.retryPage)
			}
			if err := b.checkIDs(c.Context(), ids, true); err != nil {
				return err
			}
			for _, id := range ids {
				if err := b.retry(c.Context(), id); err != nil {
					return err
				}
			}
			return f.afterPush(c, b, ids, wait)
		}),
	}
	c.Args = cobra.ArbitraryArgs
	c.Flags().BoolVar(&wait, "wait", false, "wait for the jobs to end")
	sweep.flags(c, "run all dead jobs again")
	return c
}

// retry runs one record again.
func (b *backend) retry(ctx context.Context, id string) error {
	// One that is PENDING was perhaps not pushed: a push too many does nothing.
	if r, err := b.records.Retry(ctx, id); err != nil && r.Status != engine.Pending {
		return err
	}
	if err := b.redis.ZRem(ctx, b.scripts.Dead(), id).Err(); err != nil {
		return err
	}
	return b.push(ctx, []string{id})
}

// unableToRetry says why a dead job cannot run again. One that is PENDING was
// perhaps not pushed: a push too many does nothing.
func (b *backend) unableToRetry(j deadJob) string {
	switch {
	case j.Status != engine.Failed && j.Status != engine.Pending:
		return j.Note
	case b.config.Reports[j.Report] == nil:
		return "its report is not in the configuration"
	}
	return ""
}

// retryPage runs dead jobs again: a few statements and one round trip for all.
func (b *backend) retryPage(ctx context.Context, page []deadJob) ([]bool, error) {
	runs := make([]engine.Run, len(page))
	for i, j := range page {
		runs[i] = engine.Run{ID: j.ID, Attempt: j.Attempt}
	}
	done, err := b.records.RetryFailed(ctx, runs)
	if err != nil {
		return nil, err
	}
	_, err = b.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, j := range page {
			if done[i] {
				// In this order: a job that fails again at once is listed again.
				p.ZRem(ctx, b.scripts.Dead(), j.ID)
				p.XAdd(ctx, &redis.XAddArgs{Stream: b.scripts.Jobs(), Values: []string{"id", j.ID}})
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("push: %w", err)
	}
	return done, nil
}

func sortedNames(counts map[string]int) []string { return slices.Sorted(maps.Keys(counts)) }
