package main

import (
	"github.com/fanfold/fanfold/report"
	"github.com/spf13/cobra"
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
			v, err := b.view(c.Context(), args[0])
			if err != nil {
				return err
			}
			return f.print(c.OutOrStdout(), v)
		}),
	}
}
