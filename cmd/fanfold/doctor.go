package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/inspect"
)

func newDoctor(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check Redis, MySQL, APIs, the sink and the scratch folder, and report what is wrong",
		Long: `Doctor looks at everything that the configuration names, writes and deletes one
object in the sink and one scratch file, and changes nothing else. Exits with 1 if any check fails.`,
		RunE: f.connected(func(c *cobra.Command, b *backend, _ []string) error {
			ctx, cancel := context.WithTimeout(c.Context(), 2*time.Minute)
			defer cancel()
			all := b.inspect.Doctor(ctx)
			if err := f.print(c.OutOrStdout(), findingTable(all)); err != nil {
				return err
			}
			if n := all.Count(inspect.Fail); n > 0 {
				return fmt.Errorf("%d of %d checks failed", n, len(all))
			}
			return nil
		}),
	}
}

// findingTable shows findings as a table.
type findingTable []inspect.Finding

func (fs findingTable) table(t table.Writer) {
	t.AppendHeader(table.Row{"result", "check", "detail"})
	for _, f := range fs {
		detail := f.Detail
		if f.Hint != "" {
			detail += "\n→ " + f.Hint
		}
		t.AppendRow(table.Row{f.Result, f.Check, detail})
	}
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 1, Transformer: coloured}, {Number: 3, WidthMax: 100}})
}

// coloured is a result as terminals show it.
func coloured(result any) string {
	colours := map[string]text.Color{inspect.Pass: text.FgGreen, inspect.Warn: text.FgYellow, inspect.Fail: text.FgRed}
	said := fmt.Sprint(result)
	if colour, ok := colours[said]; ok {
		return colour.Sprint(said)
	}
	return said
}
