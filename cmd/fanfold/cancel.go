package main

import (
	"cmp"

	"github.com/spf13/cobra"
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
			done, err := each(ids, func(id string) (string, error) { return b.Operate.Jobs.Cancel(c.Context(), id, reason) })
			return cmp.Or(f.printOutcomes(c, done), err)
		}),
	}
	c.Flags().StringVar(&reason, "reason", "cancelled with fanfold cancel", "for the error column of the record")
	return c
}
