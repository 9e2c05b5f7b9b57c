package command

import (
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/operate"
)

func newLimit(f *flags) *cobra.Command {
	c := &cobra.Command{
		Use:   "limit",
		Short: "Limit a database, an API or a report while processes run",
		Long: `Limit replaces parallel of a database or an API, or running of a report, within a second
and in all processes, without a restart. It may be higher or lower than in the configuration. What
runs continues: above a lower limit, nothing new starts. Tasks and jobs that began when there was no
limit are not counted.

A limit lasts until its end, or until you reset it, even if Redis loses its memory (after fanfold
migrate). Then that of the configuration holds again.

    fanfold limit source fund 2 --for 2h --reason "too many threads run"
    fanfold limit source fund reset`,
	}
	c.AddCommand(
		limitOf(f, "source", "Limit the tasks of a database or an API", sourceNames),
		limitOf(f, "report", "Limit the running jobs of a report", (*config.Config).ReportNames),
		&cobra.Command{
			Use: "ls", Aliases: []string{"list"}, Short: "List what is limited",
			RunE: f.connected(func(c *cobra.Command, b *backend, _ []string) error {
				list, err := b.Inspect.Limits.List(c.Context())
				if err != nil {
					return err
				}
				return f.printLimits(c, list)
			}),
		},
	)
	return c
}

// limitOf returns the command that limits something of a kind.
func limitOf(f *flags, kind, short string, names func(*config.Config) []string) *cobra.Command {
	var terms termFlags
	return terms.add(&cobra.Command{
		Use: kind + " NAME N|reset", Short: short, Args: cobra.ExactArgs(2), ValidArgsFunction: f.complete(names),
		RunE: f.connected(func(c *cobra.Command, b *backend, args []string) error {
			what := kind + "/" + args[0]
			if args[1] == "reset" {
				was, err := b.Operate.Limits.Reset(c.Context(), what)
				if err != nil {
					return err
				}
				r := struct {
					What string `json:"what"`
					Was  bool   `json:"was_limited"`
				}{what, was}
				return f.print(c, r, table.Row{"reset", "was limited"}, []table.Row{{what, was}})
			}
			n, err := strconv.Atoi(args[1])
			if err != nil {
				return fault.Input.New("%q is not a limit: write a number, or reset", args[1])
			}
			of, err := operate.TermsOf(terms.reason, terms.length, terms.until)
			if err != nil {
				return err
			}
			one, err := b.Operate.Limits.Set(c.Context(), what, n, of)
			if err != nil {
				return err
			}
			return f.printLimits(c, []inspect.Limit{one})
		}),
	})
}

func (p printer) printLimits(c *cobra.Command, list []inspect.Limit) error {
	titles := table.Row{"limited", "limit", "configured", "since", "until", "who", "reason"}
	return printList(p, c, list, titles, func(l inspect.Limit) table.Row {
		until, configured := "", "no limit"
		if l.Until != nil {
			until = words.Stamp(*l.Until)
		}
		if l.Configured > 0 {
			configured = strconv.Itoa(l.Configured)
		}
		return table.Row{l.What, l.Limit, configured, words.Stamp(l.Since), until, l.Who, l.Reason}
	})
}
