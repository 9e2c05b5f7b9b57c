package main

import (
	"errors"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/engine/record"
)

func newMigrate(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Make Fanfold's own record table, or bring it up to date",
		Long: `Migrate makes the table that records.table names. It may be run any number of
times. It is not for a table of yours: map that in the configuration.`,
		RunE: f.connected(func(c *cobra.Command, b *backend, _ []string) error {
			if r := b.config.Records; len(r.Columns) > 0 || len(r.Statuses) > 0 {
				return usage(errors.New("records.columns or records.statuses map a table of yours, which migrate does not touch; fanfold doctor looks at it"))
			}
			done, err := record.Migrate(c.Context(), b.databases[b.config.Records.Database], b.config.Records.Table)
			if err != nil {
				return err
			}
			return f.print(c.OutOrStdout(), append(migrated{}, done...))
		}),
	}
}

// migrated are the migrations that were applied.
type migrated []string

func (m migrated) table(t table.Writer) {
	t.AppendHeader(table.Row{"applied"})
	for _, name := range m {
		t.AppendRow(table.Row{name})
	}
	if len(m) == 0 {
		t.AppendRow(table.Row{"nothing: the table is up to date"})
	}
}
