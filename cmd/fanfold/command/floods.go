package command

import (
	"fmt"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/operate"
	"github.com/fanfold/fanfold/report"
)

func newFloods(f *flags) *cobra.Command {
	var of string
	var limit int
	c := &cobra.Command{
		Use:   "floods PARAMETER",
		Short: "Show which values of a parameter have the most jobs",
		Long: `Floods shows for every value of a parameter, such as a customer, how many jobs wait, run and
have failed in the last day, and what the running ones take: data in Redis, and how long their
queries have taken so far. It reads up to 20,000 records that have not ended, and as many that
failed: those that changed last. A job with a list counts for every one of its values.`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: f.complete(parameterNames),
		RunE: f.connected(func(c *cobra.Command, b *backend, args []string) error {
			if of != "" {
				if _, err := operate.ReportOf(b.Config.Reports, of); err != nil {
					return err
				}
			}
			if known := parameterNames(b.Config); !slices.Contains(known, args[0]) {
				return fault.Input.New("no report has a parameter %q. %s", args[0], report.DidYouMean(args[0], known))
			}
			if err := positive(limit); err != nil {
				return err
			}
			use, err := b.Inspect.Jobs.Use(c.Context(), of, args[0])
			if err != nil {
				return err
			}
			running, err := b.Inspect.Jobs.Running(c.Context(), 0)
			if err != nil {
				return err
			}
			list := use.Floods(running)
			if use.Cut {
				c.PrintErrln("There are more records: these are the numbers of those that changed last.")
			}
			if len(list) == 0 && f.output != "json" {
				_, err := fmt.Fprintln(c.OutOrStdout(), "no job with this parameter waits, runs or has failed in the last day")
				return err
			}
			return printList(f.printer, c, list[:min(len(list), limit)], table.Row{
				args[0], "waiting", "running", "failed", "data", "query time",
			}, func(v inspect.Flood) table.Row {
				return table.Row{
					report.Shorten(v.Value), v.Waiting, v.Running, v.Failed, words.Bytes(v.Bytes),
					words.Short(time.Duration(v.Seconds * float64(time.Second))),
				}
			})
		}),
	}
	c.Flags().StringVar(&of, "report", "", "only jobs of this report")
	c.Flags().IntVar(&limit, "limit", 20, "maximum number of values")
	return c
}

// parameterNames returns the names of the parameters of all reports.
func parameterNames(c *config.Config) (names []string) {
	for _, r := range c.Reports {
		for _, p := range r.Parameters {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
