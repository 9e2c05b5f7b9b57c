package command

import (
	"cmp"
	"errors"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/internal/fault"
)

func newRetry(f *flags) *cobra.Command {
	var wait bool
	sweep := deadSweep{past: "pushed again"}
	c := &cobra.Command{
		Use:   "retry ID…|--all",
		Short: "Run records with a final status again",
		Long: `Retry sets a SUCCESS, PARTIAL, FAILED or CANCELLED record to PENDING and pushes its id.
The job gets the next attempt. The file of the last attempt is deleted when the new
attempt ends, even if that one fails or is cancelled.

Retry handles every id separately. It refuses an id if the job runs, or if the record or
the report does not exist. The exit code is the highest of all ids. With --wait, it shows
the progress of every listener until the jobs end; the exit code is 4 if a job failed or an
id was quarantined.

With --all, retry runs the dead jobs whose records are FAILED, in every partition the
oldest first. It runs each job once, even if the job fails again meanwhile. --since and
--until select by the time of the failure: a time, or a duration before now. The list of
dead jobs is in Redis and is lost with its memory; fanfold list --status failed shows the
records.`,
		Args: cobra.ArbitraryArgs,
		RunE: f.withIDs(func(c *cobra.Command, b *backend, ids []string) error {
			if err := sweep.check(ids); err != nil {
				return err
			}
			if sweep.all && wait {
				return fault.Input.New("--wait requires ids")
			}
			if sweep.all {
				return sweep.run(f, c, b.Operate.Dead.Retry)
			}
			var pushed []string
			done, refused := forEach(ids, func(id string) (string, error) {
				if err := b.Operate.Jobs.Retry(c.Context(), id); err != nil {
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
			return errors.Join(refused, err)
		}),
	}
	c.Flags().BoolVar(&wait, "wait", false, "wait for the jobs to end")
	sweep.flags(c, "run all dead jobs again")
	return c
}
