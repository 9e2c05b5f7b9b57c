package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
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
		RunE: f.connected(func(c *cobra.Command, b *backend, ids []string) error {
			for _, id := range ids {
				if !report.ValidID(id) {
					return usage(notID(id))
				}
			}
			done, err := each(ids, func(id string) (string, error) { return b.cancel(c.Context(), id, reason) })
			if printErr := f.print(c.OutOrStdout(), done); printErr != nil {
				return printErr
			}
			return err
		}),
	}
	c.Flags().StringVar(&reason, "reason", "cancelled with fanfold cancel", "for the error column of the record")
	return c
}

// errNotCancelled is returned for a record that cannot be cancelled, or not any more.
var errNotCancelled = errors.New("not cancelled")

// cancelTries bounds how often a record is looked at that changes all the time.
const cancelTries = 100

// cancel cancels a record and its job. First the state decides, if there is one: what
// can be interrupted after that, an engine finishes.
func (b *backend) cancel(ctx context.Context, id, reason string) (outcome string, err error) {
	for range cancelTries {
		records, err := b.records.Read(ctx, []string{id})
		if err != nil {
			return "", err
		}
		r, ok := records[id]
		if !ok || r.ID != id {
			return "", b.inspect.NoRecord(id)
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
			ok, err := b.records.Cancel(ctx, engine.Run{ID: id, Attempt: r.Attempt}, reason)
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
			if err := b.deleteFiles(ctx, r); err != nil {
				return "", err
			}
			// No engine ends a job that does not run, and says so. Of a record that was
			// CANCELLED before, it is not known whether the command came to this.
			if err := b.scripts.Note(ctx, id, r.Attempt, "finished", "status", string(report.Cancelled), "reason", reason); err != nil {
				return "", err
			}
		}
		return outcome, b.forget(ctx, r)
	}
	return "", fmt.Errorf("record %s: %w: it changes all the time", id, errNotCancelled)
}

// stop stops the job of a record, if there is one, and tells whether there is.
func (b *backend) stop(ctx context.Context, r engine.Record, reason string) (runs bool, err error) {
	outcome, status, err := b.scripts.Cancel(ctx, r.ID, r.Attempt, reason)
	switch {
	case err != nil:
		return false, err
	case outcome == scripts.Busy && status == scripts.StatusPublishing:
		return true, fmt.Errorf("record %s: %w: its file is being committed", r.ID, errNotCancelled)
	case outcome == scripts.Busy:
		return true, fmt.Errorf("record %s: %w: its job fails already", r.ID, errNotCancelled)
	}
	return outcome != scripts.Gone, nil
}

// deleteFiles has an engine delete the files of a cancelled record that has no job: the
// one of an earlier run, or of an attempt that Redis has lost.
func (b *backend) deleteFiles(ctx context.Context, r engine.Record) error {
	if r.Attempt == 0 {
		return nil
	}
	return b.redis.XAdd(ctx, &redis.XAddArgs{Stream: b.scripts.FanIn(), Values: []any{"id", r.ID, "attempt", r.Attempt, "report", r.Report}}).Err()
}

// forget takes away the places in which a record waits that has not been started.
func (b *backend) forget(ctx context.Context, r engine.Record) error {
	if err := b.redis.ZRem(ctx, b.scripts.Delayed(), anys(inspect.BeforeStart(r.ID))...).Err(); err != nil {
		return err
	}
	return b.redis.ZRem(ctx, b.scripts.Waiting(r.Report), r.ID).Err()
}
