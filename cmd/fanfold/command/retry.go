package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/operate"
	"github.com/fanfold/fanfold/scripts/job"
)

func newRetry(f *flags) *cobra.Command {
	var wait, fresh bool
	var fresher string
	sweep := deadSweep{past: "pushed again"}
	c := &cobra.Command{
		Use:   "retry ID…|--all",
		Short: "Run records with a final status again",
		Long: `Retry sets a SUCCESS, PARTIAL, FAILED or CANCELLED record to PENDING and pushes its id.
The job gets the next attempt. The file of the last attempt is deleted when the new
attempt ends, even if that one fails or is cancelled.

If the report has keep, the datasets of listeners that were done are kept when a job
ends as FAILED or CANCELLED. The next attempt reuses them, and reads only what is
missing, or changed in the definition or the parameters. Retry says what that is.
--fresher-than 10m also reads anew what is older; --fresh reads everything anew.

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
			switch {
			case fresh && fresher != "":
				return fault.Input.New("--fresh and --fresher-than: give one of them")
			case fresh:
				fresher = "0"
			}
			within, err := job.ParseAge(fresher)
			if err != nil {
				return fault.Input.New("--fresher-than: %w", err)
			}
			if sweep.all && wait {
				return fault.Input.New("--wait requires ids")
			}
			if sweep.all {
				return sweep.run(f, c, func(ctx context.Context, s operate.Sweep) (operate.Swept, error) {
					s.FresherThan = fresher
					return b.Operate.Dead.Retry(ctx, s)
				})
			}
			var pushed []string
			done, refused := forEach(ids, func(id string) (string, error) {
				plan, err := b.Operate.Jobs.Retry(c.Context(), id, within)
				if err != nil {
					return "", err
				}
				if pushed = append(pushed, id); wait && plan != "" {
					fmt.Fprintln(c.ErrOrStderr(), id, plan)
				}
				return strings.TrimSuffix("pushed: "+plan, ": "), nil
			})
			if !wait {
				return cmp.Or(f.printOutcomes(c, done), refused)
			}
			if len(pushed) == 0 {
				return refused
			}
			_, err = f.waitFor(c, b, pushed)
			return errors.Join(refused, err)
		}),
	}
	c.Flags().StringVar(&fresher, "fresher-than", "", "maximum age of the datasets that are reused, such as 10m; 0: none is")
	c.Flags().BoolVar(&fresh, "fresh", false, "reuse no dataset of an earlier attempt")
	c.Flags().BoolVar(&wait, "wait", false, "wait for the jobs to end")
	sweep.flags(c, "run all dead jobs again")
	return c
}
