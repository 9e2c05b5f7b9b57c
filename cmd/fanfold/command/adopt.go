package command

import (
	"cmp"
	"errors"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/operate"
)

func newAdopt(f *flags) *cobra.Command {
	var name string
	var all bool
	c := &cobra.Command{
		Use:   "adopt ID… | --report NAME | --all",
		Short: "Restart running jobs whose report definition no longer exists",
		Long: `A running job keeps the report definition it was started with. After a change of the
configuration, processes without that definition hand the job's entries back. Once no
process has the definition, the job cannot continue. Adopt starts the next attempt of
such a job with the current definition, at once.

If a process still has the definition, the job can continue and adopt refuses it. With
--report or --all, adopt restarts all such jobs and skips those that end or continue
meanwhile. Adopting a job twice starts one attempt. Processes do this
themselves after limits.recover_after, unless the report has on_change: wait.`,
		Args: cobra.ArbitraryArgs,
		RunE: f.withIDs(func(c *cobra.Command, b *backend, ids []string) error {
			listed, given := len(ids) == 0, 0
			for _, one := range []bool{!listed, name != "", all} {
				if one {
					given++
				}
			}
			if given != 1 {
				return fault.Input.New("give ids, --report NAME or --all")
			}
			if name != "" {
				if _, err := b.Operate.Jobs.Report(name); err != nil {
					return err
				}
			}
			if listed {
				var err error
				if ids, err = b.Operate.Jobs.Orphans(c.Context(), name); err != nil {
					return err
				}
			}
			done, err := forEach(ids, func(id string) (string, error) {
				what, err := b.Operate.Jobs.Adopt(c.Context(), id)
				if n, ok := errors.AsType[operate.Needless](err); ok && listed {
					return n.Outcome, nil
				}
				return what, err
			})
			return cmp.Or(f.printOutcomes(c, done), err)
		}),
	}
	c.Flags().StringVar(&name, "report", "", "adopt all such jobs of this report")
	c.Flags().BoolVar(&all, "all", false, "adopt all such jobs")
	if err := c.RegisterFlagCompletionFunc("report", f.complete((*config.Config).ReportNames)); err != nil {
		panic(err) // the flag does not exist
	}
	return c
}
