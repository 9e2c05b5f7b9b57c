package main

import (
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/engine/record"
)

func newMigrate(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Make Fanfold's tables, or bring them up to date",
		Long: `Migrate makes the tables that outlive Redis (fanfold_meta, fanfold_snapshot,
fanfold_firing), in the schema of the records, and the record table that
records.table names; not that one if it is yours, with records.columns or
records.statuses in the configuration. It may be run any number of times.`,
		RunE: f.connected(func(c *cobra.Command, b *backend, _ []string) error {
			r, db := b.config.Records, b.databases[b.config.Records.Database]
			var done migrated
			if len(r.Columns) == 0 && len(r.Statuses) == 0 {
				steps, err := record.Migrate(c.Context(), db, r.Table)
				if err != nil {
					return err
				}
				done = append(done, steps...)
			}
			steps, err := record.MigrateTables(c.Context(), db, r.Table)
			if err != nil {
				return err
			}
			done = append(done, steps...)
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
		t.AppendRow(table.Row{"nothing: all tables are up to date"})
	}
}
