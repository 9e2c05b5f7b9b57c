package main

import (
	"github.com/fanfold/fanfold/report"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
)

func newWhy(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "why ID",
		Short: "Say in plain words what a job waits for",
		Long: `Why looks at the record, at Redis and at the databases that the job waits for, and
says what keeps the job, what will happen when, what can be done about it, and
which redis-cli commands show the same. It changes nothing.

A server that does not answer is an answer, too; the exit code is 3 only where
there is no such record and no trace of the id.`,
		Args: cobra.ExactArgs(1),
		RunE: f.connected(func(c *cobra.Command, b *backend, ids []string) error {
			if !report.ValidID(ids[0]) {
				return usage(notID(ids[0]))
			}
			found := b.gather(c.Context(), ids[0])
			v := diagnose(found)
			if v.Kind == lost || v.Kind == notPushed {
				// What moved while it was looked for is not lost: look once more.
				found = b.gather(c.Context(), ids[0])
				v = diagnose(found)
			}
			if err := c.Context().Err(); err != nil {
				return err
			}
			var err error
			if f.output == "json" {
				err = f.print(c.OutOrStdout(), v)
			} else {
				err = v.text(c.OutOrStdout(), found.Now)
			}
			if err == nil && v.Kind == noRecord {
				err = b.noRecord(v.ID)
			}
			return err
		}),
	}
}

// table is not used: a verdict is text, or JSON.
func (v verdict) table(t table.Writer) { t.AppendRow(table.Row{v.Kind, v.Summary}) }
