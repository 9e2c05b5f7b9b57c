package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/fold"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
)

func newExplain(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "explain REPORT",
		Short: "Show the stages of a report and how its fold runs, without any connection",
		Args:  cobra.ExactArgs(1), ValidArgsFunction: f.complete((*config.Config).ReportNames),
		RunE: func(c *cobra.Command, args []string) error {
			loaded, err := process.LoadConfig(f.config, f.kinds)
			if err != nil {
				return err
			}
			r := loaded.Reports[args[0]]
			if r == nil {
				return fault.NotFound.New("no report %q: %s", args[0], report.DidYouMean(args[0], loaded.ReportNames()))
			}
			lines, err := explained(r)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), strings.Join(lines, "\n"))
			return err
		},
	}
}

// explained returns the stages and the steps of the fold, one a line.
func explained(r *report.Report) ([]string, error) {
	var lines []string
	for i, s := range r.Stages {
		lines = append(lines, fmt.Sprintf("stage %d: %s", i+1, strings.Join(s.Names(), ", ")))
	}
	if r.Fold == "" {
		for _, l := range r.Join.Listeners {
			lines = append(lines, fmt.Sprintf("fold: %s join %s on %s", l.Type, l.Listener, strings.Join(l.Keys, ", ")))
		}
		return lines, nil
	}
	plan, err := fold.NamesOf(r, fold.Parameters(r.Parameters, nil))
	if err != nil {
		return nil, err
	}
	for _, step := range plan.Explain() {
		lines = append(lines, "fold: "+step)
	}
	return lines, nil
}
