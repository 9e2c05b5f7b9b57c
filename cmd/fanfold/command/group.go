package command

import (
	"errors"
	"maps"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/operate"
)

// groupFlags has the flags that select jobs without a final status, instead of ids.
type groupFlags struct {
	operate.Group
	parameters []string
}

func (g *groupFlags) flags(c *cobra.Command) {
	c.Flags().StringVar(&g.Report, "report", "", "jobs of this report, instead of ids")
	c.Flags().StringArrayVar(&g.parameters, "param", nil,
		"jobs with this parameter, as `NAME=VALUE`, instead of ids; several must all match")
	c.Flags().BoolVar(&g.DryRun, "dry-run", false,
		"with --report or --param: print what would change, and change nothing")
}

// given reports whether the user selected a group, and not ids.
func (g *groupFlags) given(b *backend, ids []string) (ok bool, err error) {
	ok = g.Report != "" || len(g.parameters) > 0
	switch {
	case ok && len(ids) > 0:
		return false, fault.Input.New("give ids, or --report and --param, not both")
	case !ok && len(ids) == 0:
		return false, fault.Input.New("give ids, or --report, --param or both")
	case !ok && (g.DryRun || g.Waiting):
		return false, fault.Input.New("--dry-run and --waiting require --report or --param")
	}
	if g.Report != "" {
		if _, err := operate.ReportOf(b.Config.Reports, g.Report); err != nil {
			return false, err
		}
	}
	g.Parameters, err = parameterFilter(g.parameters)
	return ok, err
}

// print prints the result of a change of the group, also of an incomplete one.
func (g *groupFlags) print(f *flags, c *cobra.Command, past string, done operate.Swept, err error) error {
	return errors.Join(f.printSwept(c, done, past, g.DryRun), err)
}

// printSwept prints how many jobs of a group changed; past is the change, in the past tense.
func (p printer) printSwept(c *cobra.Command, s operate.Swept, past string, dryRun bool) error {
	var rows []table.Row
	for _, report := range slices.Sorted(maps.Keys(s.ByReport)) {
		rows = append(rows, table.Row{report, s.ByReport[report], s.Examples[report]})
	}
	if dryRun {
		past = "would be " + past
	}
	rows = append(rows, table.Row{past, s.Would + s.Done, ""})
	for _, why := range slices.Sorted(maps.Keys(s.Left)) {
		rows = append(rows, table.Row{"unchanged: " + why, s.Left[why], ""})
	}
	return p.print(c, s, table.Row{"report", "jobs", "example"}, rows)
}
