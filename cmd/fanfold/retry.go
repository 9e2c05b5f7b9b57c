package main

import (
	"cmp"
	"errors"

	"github.com/spf13/cobra"
)

func newRetry(f *flags) *cobra.Command {
	var wait bool
	sweep := deadSweep{past: "pushed again"}
	c := &cobra.Command{
		Use:   "retry ID…|--all",
		Short: "Run records again that have a final status",
		Long: `Retry makes a SUCCESS, PARTIAL, FAILED or CANCELLED record PENDING and pushes its
id. The job gets the next attempt. A file of the last one stays until this one ends, and
is then removed, whatever comes of it: a rerun that fails or is cancelled leaves the record
without a file.

Each id is done by itself: one that is refused, since its job runs or its record or
report is not there, holds up no other, and the exit code is the highest of them.

With --all it does so for the jobs on the list of dead ones whose records are still
FAILED, the oldest of each partition first; a job that fails again meanwhile is not taken twice. That list
is in Redis and is lost with its memory: fanfold list --status failed shows the records.`,
		Args: cobra.ArbitraryArgs,
		RunE: f.withIDs(func(c *cobra.Command, b *backend, ids []string) error {
			if err := sweep.check(ids); err != nil {
				return err
			}
			if sweep.all && wait {
				return usage(errors.New("--wait goes with ids"))
			}
			if sweep.all {
				return sweep.run(f, c, b.Operate.Dead.Retry)
			}
			var pushed []string
			done, refused := each(ids, func(id string) (string, error) {
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
			return worst(refused, err)
		}),
	}
	c.Flags().BoolVar(&wait, "wait", false, "wait for the jobs to end")
	sweep.flags(c, "run all dead jobs again")
	return c
}
