package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

func newCancel(f *flags) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "cancel ID…",
		Short: "Cancel records that have no final status",
		Long: `Cancel makes a PENDING or PROCESSING record CANCELLED. The queries of its job stop
within a moment, on their servers too, its file is not made, and what waits of it is
taken away. If the record was running again, its earlier file is removed, too. A job
whose file is being committed goes on, and a record with a final status stays as it is:
the exit code is 1 then, and 3 where there is no such record. Cancelling again finishes
what was interrupted, and otherwise changes nothing; the event finished may come twice.`,
		Args: cobra.MinimumNArgs(1),
		RunE: f.withIDs(func(c *cobra.Command, b *backend, ids []string) error {
			done, err := each(ids, func(id string) (string, error) { return b.cancel(c.Context(), id, reason) })
			return cmp.Or(f.printOutcomes(c, done), err)
		}),
	}
	c.Flags().StringVar(&reason, "reason", "cancelled with fanfold cancel", "for the error column of the record")
	return c
}

// errNotCancelled is returned for a record that cannot be cancelled, or not any more.
var errNotCancelled = errors.New("not cancelled")

// cancelTries bounds how often a record is read that changes all the time.
const cancelTries = 100

// cancel cancels a record and its job. First the state decides, if there is one: what
// can be interrupted after that, an engine finishes.
func (b *backend) cancel(ctx context.Context, id, reason string) (outcome string, err error) {
	for range cancelTries {
		r, err := b.Inspect.Record(ctx, id)
		if err != nil {
			return "", err
		}
		if r.Status.Final() && r.Status != report.Cancelled {
			return "", fmt.Errorf("record %s: %w: it is %s", id, errNotCancelled, r.Status)
		}
		runs, err := b.stop(ctx, r, reason)
		if err != nil {
			return "", err
		}
		if r.Status == report.Cancelled {
			outcome, reason = "cancelled before", cmp.Or(r.Error, reason)
		} else {
			outcome = "cancelled"
			ok, err := b.Records.Cancel(ctx, engine.Run{ID: id, Attempt: r.Attempt, Pending: true}, reason)
			if err != nil {
				return "", err
			}
			if !ok {
				continue // somebody has started it, or it has ended
			}
			// The trigger may have been between record and state.
			after, err := b.stop(ctx, r, reason)
			if err != nil && !errors.Is(err, errNotCancelled) {
				return "", err
			}
			runs = runs || after || err != nil
		}
		if !runs {
			if err := b.finish(ctx, r, reason); err != nil {
				return "", err
			}
		}
		keys := b.Partitions.Of(id).Keys
		if err := b.Redis.ZRem(ctx, keys.Delayed(), engine.BeforeStart(id)).Err(); err != nil {
			return "", err
		}
		return outcome, b.Redis.ZRem(ctx, keys.Waiting(r.Report), id).Err()
	}
	return "", fmt.Errorf("record %s: %w: it changes all the time", id, errNotCancelled)
}

// stop stops the job of a record, if there is one, and tells whether there is.
func (b *backend) stop(ctx context.Context, r engine.Record, reason string) (runs bool, err error) {
	outcome, status, err := b.Partitions.Of(r.ID).Jobs.Cancel(ctx, r.ID, r.Attempt, reason)
	switch {
	case err != nil:
		return false, err
	case outcome == scripts.Busy && status == job.StatusPublishing:
		return true, fmt.Errorf("record %s: %w: its file is being committed: it waits for the sink, and ends with its file or as FAILED; fanfold why %[1]s says more", r.ID, errNotCancelled)
	case outcome == scripts.Busy:
		return true, fmt.Errorf("record %s: %w: its job fails already", r.ID, errNotCancelled)
	}
	return outcome != scripts.Gone, nil
}

// finish does for a cancelled record without a job what an engine does at the end of one:
// it says so, also where an interrupted command may have said it before. An engine deletes
// the files, of an earlier run or of an attempt that Redis has lost.
func (b *backend) finish(ctx context.Context, r engine.Record, reason string) error {
	if r.Attempt > 0 {
		entry := &redis.XAddArgs{Stream: b.Partitions.Of(r.ID).Keys.FanIn(), Values: []any{"id", r.ID, "attempt", r.Attempt, "report", r.Report}}
		if err := b.Redis.XAdd(ctx, entry).Err(); err != nil {
			return err
		}
	}
	return b.Partitions.Of(r.ID).Jobs.Note(ctx, r.ID, r.Attempt, "finished", "status", string(report.Cancelled), "reason", reason)
}
