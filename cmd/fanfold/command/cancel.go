package command

import (
	"cmp"

	"github.com/spf13/cobra"
)

func newCancel(f *flags) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "cancel ID…",
		Short: "Cancel records that have no final status",
		Long: `Cancel sets PENDING or PROCESSING records to CANCELLED. It stops the queries of the job,
also on the database servers, deletes its data, and makes no file. If the record was
running again, its earlier file is deleted.

Cancel cannot stop a job whose file is being committed, and it does not change a record
with a final status: the exit code is then 1, or 3 if the record does not exist.
Cancelling twice finishes an interrupted cancellation and otherwise changes nothing. The
event finished may then appear twice.`,
		Args: cobra.MinimumNArgs(1),
		RunE: f.withIDs(func(c *cobra.Command, b *backend, ids []string) error {
			done, err := forEach(ids,
				func(id string) (string, error) { return b.Operate.Jobs.Cancel(c.Context(), id, reason) })
			return cmp.Or(f.printOutcomes(c, done), err)
		}),
	}
	c.Flags().StringVar(&reason, "reason", "cancelled with fanfold cancel", "text for the error column of the record")
	return c
}
