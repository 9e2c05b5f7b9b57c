package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
)

func newList(f *flags) *cobra.Command {
	var status string
	var limit int
	c := &cobra.Command{
		Use:   "list",
		Short: "List records, most recently changed first",
		RunE: f.connected(func(c *cobra.Command, b *backend, _ []string) error {
			s := report.Status(strings.ToUpper(status))
			switch s {
			case "", report.Pending, report.Processing, report.Success, report.Partial, report.Failed, report.Cancelled:
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
	var statuses []string
	for _, s := range report.Statuses {
		statuses = append(statuses, string(s))
	}
	offer(c, "status", statuses...)
	c.Flags().IntVar(&limit, "limit", 50, "how many")
	return c
}
