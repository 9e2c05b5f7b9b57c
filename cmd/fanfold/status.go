package main

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
)

func newStatus(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "status ID",
		Short: "Show a record and where its job stands",
		Args:  cobra.ExactArgs(1),
		RunE: f.connected(func(c *cobra.Command, b *backend, args []string) error {
			if !report.ValidID(args[0]) {
				return usage(notID(args[0]))
			}
			v, err := b.inspect.Job(c.Context(), args[0])
			if err != nil {
				return err
			}
			return f.print(c.OutOrStdout(), jobTable(v))
		}),
	}
}

// jobTable shows a job as a table.
type jobTable inspect.Job

func (v jobTable) table(t table.Writer) {
	t.AppendRow(table.Row{"id", v.ID})
	t.AppendRow(table.Row{"report", v.Report})
	t.AppendRow(table.Row{"status", v.Status})
	t.AppendRow(table.Row{"attempt", v.Attempt})
	if v.File != "" {
		t.AppendRow(table.Row{"file", v.File})
	}
	if v.Error != "" {
		t.AppendRow(table.Row{"error", v.Error})
	}
	if v.Job != "" {
		job := fmt.Sprintf("%s, stage %d", v.Job, v.Stage)
		if v.Deadline != nil {
			job += ", deadline " + inspect.Stamp(*v.Deadline)
		}
		t.AppendRow(table.Row{"job", job})
	}
	if v.Orphan {
		t.AppendRow(table.Row{"waits", "no process has the definition that it was started with: fanfold adopt " + v.ID + " restarts it with today's"})
	}
	for _, p := range v.Paused {
		t.AppendRow(table.Row{"paused", p})
	}
	for _, l := range v.Listeners {
		t.AppendRow(table.Row{l.Name, fmt.Sprintf("%s, %d rows, try %d", l.State, l.Rows, l.Tries)})
	}
}
