package main

import (
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/engine"
)

func newRetry(f *flags) *cobra.Command {
	var wait bool
	c := &cobra.Command{
		Use:   "retry ID",
		Short: "Run a record again that has a final status",
		Long: `Retry makes a SUCCESS, FAILED or CANCELLED record PENDING and pushes its id. The
job gets the next attempt; the file of the last one is removed when the new one
is there.`,
		Args: cobra.ExactArgs(1),
		RunE: f.connected(func(c *cobra.Command, b *backend, ids []string) error {
			if err := b.checkIDs(c.Context(), ids, true); err != nil {
				return err
			}
			// One that is PENDING was perhaps not pushed: a push too many does nothing.
			if r, err := b.records.Retry(c.Context(), ids[0]); err != nil && r.Status != engine.Pending {
				return err
			}
			if err := b.redis.ZRem(c.Context(), b.scripts.Dead(), ids[0]).Err(); err != nil {
				return err
			}
			if err := b.push(c.Context(), ids); err != nil {
				return err
			}
			return f.afterPush(c, b, ids, wait)
		}),
	}
	c.Flags().BoolVar(&wait, "wait", false, "wait for the job to end")
	return c
}
