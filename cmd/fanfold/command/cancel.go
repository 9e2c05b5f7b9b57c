package command

import (
	"cmp"

	"github.com/spf13/cobra"
)

func newCancel(f *flags) *cobra.Command {
	var reason string
	var group groupFlags
	c := &cobra.Command{
		Use:   "cancel ID… | --report NAME | --param NAME=VALUE",
		Short: "Cancel records that have no final status",
		Long: `Cancel sets PENDING or PROCESSING records to CANCELLED. It stops the queries of the job,
also on the database servers, deletes its data, and makes no file. If the record was
running again, its earlier file is deleted.

Cancel cannot stop a job whose file is being committed, and it does not change a record
with a final status: the exit code is then 1, or 3 if the record does not exist.
Cancelling twice finishes an interrupted cancellation and otherwise changes nothing. The
event finished may then appear twice.

With --report or --param, cancel takes all records that match all flags and have no final
status. --param compares as that of fanfold list:

    fanfold cancel --param customer=7 --waiting --dry-run`,
		Args: cobra.ArbitraryArgs,
		RunE: f.withIDs(func(c *cobra.Command, b *backend, ids []string) error {
			if many, err := group.given(b, ids); err != nil {
				return err
			} else if many {
				done, err := b.Operate.Groups.Cancel(c.Context(), group.Group, reason)
				return group.print(f, c, "cancelled", done, err)
			}
			done, err := forEach(ids,
				func(id string) (string, error) { return b.Operate.Jobs.Cancel(c.Context(), id, reason) })
			return cmp.Or(f.printOutcomes(c, done), err)
		}),
	}
	c.Flags().StringVar(&reason, "reason", "cancelled with fanfold cancel", "text for the error column of the record")
	group.flags(c)
	c.Flags().BoolVar(&group.Waiting, "waiting", false, "with --report or --param: only jobs that have not started")
	return c
}
