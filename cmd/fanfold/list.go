package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/inspect"
)

func newList(f *flags) *cobra.Command {
	var status string
	var limit int
	c := &cobra.Command{
		Use:   "list",
		Short: "List records, most recently changed first",
		RunE: f.connected(func(c *cobra.Command, b *backend, _ []string) error {
			s := engine.Status(strings.ToUpper(status))
			switch s {
			case "", engine.Pending, engine.Processing, engine.Success, engine.Partial, engine.Failed, engine.Cancelled:
			default:
				return usage(fmt.Errorf("--status: %q is none of PENDING, PROCESSING, SUCCESS, PARTIAL, FAILED and CANCELLED", status))
			}
			if limit < 1 {
				return usage(fmt.Errorf("--limit: %d is less than 1", limit))
			}
			records, err := b.records.List(c.Context(), s, limit)
			if err != nil {
				return err
			}
			views := jobViews{}
			for _, r := range records {
				views = append(views, inspect.Job{ID: r.ID, Report: r.Report, Status: r.Status, Attempt: r.Attempt, File: r.File, Error: r.Error})
			}
			return f.print(c.OutOrStdout(), views)
		}),
	}
	c.Flags().StringVar(&status, "status", "", "only these: PENDING, PROCESSING, SUCCESS, PARTIAL, FAILED or CANCELLED")
	offer(c, "status", "PENDING", "PROCESSING", "SUCCESS", "PARTIAL", "FAILED", "CANCELLED")
	c.Flags().IntVar(&limit, "limit", 50, "how many")
	return c
}
