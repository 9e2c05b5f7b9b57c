package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/inspect"
)

// deadSweep is a change of many dead jobs.
type deadSweep struct {
	deadFilter
	all    bool
	dryRun bool
	limit  int
	past   string // what was done, in a word

	// unable says why the change cannot be made to a job; empty: it can. Nil: to all.
	unable func(inspect.DeadJob) string
}

func (d *deadSweep) flags(c *cobra.Command, what string) {
	c.Flags().StringVar(&d.match, "match", "", deadMatch)
	c.Flags().StringVar(&d.report, "report", "", deadReport)
	c.Flags().BoolVar(&d.all, "all", false, what)
	c.Flags().BoolVar(&d.dryRun, "dry-run", false, "with --all: only say what would be done")
	c.Flags().IntVar(&d.limit, "limit", 0, "with --all: at most so many; 0 means all")
}

// check proves that either ids are given or --all.
func (d *deadSweep) check(ids []string) error {
	switch {
	case d.all && len(ids) > 0:
		return usage(errors.New("give ids or --all, not both"))
	case !d.all && len(ids) == 0:
		return usage(errors.New("give ids, or --all"))
	case !d.all && (d.match != "" || d.report != "" || d.dryRun || d.limit != 0):
		return usage(errors.New("--match, --report, --dry-run and --limit go with --all"))
	case d.limit < 0:
		return usage(fmt.Errorf("--limit: %d is less than 0", d.limit))
	}
	return nil
}

// swept is what a sweep has done or would do.
type swept struct {
	Would    int               `json:"would,omitempty"`
	Done     int               `json:"done"`
	Left     map[string]int    `json:"left,omitempty"` // why it was not done, and for how many
	ByReport map[string]int    `json:"by_report,omitempty"`
	Examples map[string]string `json:"examples,omitempty"` // by report: an id

	past   string
	dryRun bool
}

// sweep changes the dead jobs that are meant, a page at a time.
func (f *flags) sweep(c *cobra.Command, b *backend, d deadSweep, change func(context.Context, []inspect.DeadJob) ([]bool, error)) error {
	matches, err := glob("match", d.match)
	if err != nil {
		return err
	}
	meant := d.meant(matches)
	result := swept{Left: map[string]int{}, ByReport: map[string]int{}, Examples: map[string]string{}, past: d.past, dryRun: d.dryRun}
	stay := 0
	for page, err := range b.inspect.DeadPages(c.Context(), false, func([]inspect.DeadJob) int { return stay }) {
		if err != nil {
			return errors.Join(f.print(c.OutOrStdout(), result), err)
		}
		var chosen []inspect.DeadJob
		for _, j := range page {
			if !meant(j) || d.limit > 0 && result.Would+len(chosen) >= d.limit {
				continue
			}
			why := ""
			if d.unable != nil {
				why = d.unable(j)
			}
			if why == "" {
				chosen = append(chosen, j)
			} else {
				result.Left[why]++
			}
		}
		done := make([]bool, len(chosen))
		result.Would += len(chosen)
		if !d.dryRun && len(chosen) > 0 {
			if done, err = change(c.Context(), chosen); err != nil {
				return errors.Join(f.print(c.OutOrStdout(), result), err)
			}
		}
		stay = len(page)
		for i, j := range chosen {
			if done[i] {
				result.Done++
				stay--
			} else if !d.dryRun {
				result.Left["the record was changed by somebody else"]++
				continue
			}
			result.ByReport[j.Report]++
			result.Examples[j.Report] = j.ID
		}
		if d.limit > 0 && result.Would >= d.limit {
			break
		}
	}
	if !d.dryRun {
		result.Would = 0
	}
	return f.print(c.OutOrStdout(), result)
}

func (s swept) table(t table.Writer) {
	t.AppendHeader(table.Row{"report", "jobs", "such as"})
	total, past := s.Done, s.past
	if s.dryRun {
		total, past = s.Would, "would be "+s.past
	}
	for _, report := range sortedNames(s.ByReport) {
		t.AppendRow(table.Row{report, s.ByReport[report], s.Examples[report]})
	}
	t.AppendRow(table.Row{past, total, ""})
	for _, why := range sortedNames(s.Left) {
		t.AppendRow(table.Row{"left, as " + why, s.Left[why], ""})
	}
}
