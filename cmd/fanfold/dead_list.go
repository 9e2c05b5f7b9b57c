package main

import (
	"context"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/inspect"
)

func newDead(f *flags) *cobra.Command {
	c := &cobra.Command{
		Use:   "dead",
		Short: "See and clear the list of jobs that have failed",
	}
	c.AddCommand(newDeadList(f), newDeadDiscard(f))
	return c
}

// deadFilter says which dead jobs are meant.
type deadFilter struct {
	match  string // a glob for the report or the reason
	report string
}

const (
	deadMatch  = "only those whose report or reason is like this, such as '*timeout*'"
	deadReport = "only those of this report"
)

// meant tells which jobs are, by what matches texts.
func (d *deadFilter) meant(matches func(string) bool) func(inspect.DeadJob) bool {
	return func(j inspect.DeadJob) bool {
		return (d.report == "" || j.Report == d.report) && (matches(j.Report) || matches(j.Error))
	}
}

func newDeadList(f *flags) *cobra.Command {
	var l listing
	var filter deadFilter
	c := l.command(f, "List dead jobs with their reasons, the newest first", deadMatch,
		func(c *cobra.Command, b *backend, matches func(string) bool) (printer, error) {
			list, err := b.inspect.Dead(c.Context(), filter.meant(matches), l.limit)
			return deadJobs(list), err
		})
	c.Flags().StringVar(&filter.report, "report", "", deadReport)
	return c
}

// deadJobs are dead jobs in a list.
type deadJobs []inspect.DeadJob

func (js deadJobs) table(t table.Writer) {
	t.AppendHeader(table.Row{"id", "when", "report", "attempt", "reason"})
	for _, j := range js {
		reason := j.Error
		if j.Note != "" {
			reason = "(" + j.Note + ") " + reason
		}
		t.AppendRow(table.Row{j.ID, inspect.Stamp(j.When), j.Report, j.Attempt, reason})
	}
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 5, WidthMax: 100}})
}

func newDeadDiscard(f *flags) *cobra.Command {
	var sweep deadSweep
	c := &cobra.Command{
		Use:   "discard ID…|--all",
		Short: "Take jobs off the list of dead ones",
		Long: `Discard removes jobs from the list of dead ones. Their records stay FAILED and can
still be run again with fanfold retry.`,
		RunE: f.connected(func(c *cobra.Command, b *backend, ids []string) error {
			if err := sweep.check(ids); err != nil {
				return err
			}
			if !sweep.all {
				for _, id := range ids {
					n, err := b.redis.ZRem(c.Context(), b.scripts.Dead(), id).Result()
					if err == nil && n == 0 {
						err = coded{fmt.Errorf("%s is not on the list of dead jobs; those before it are discarded", id), exitNotFound}
					}
					if err != nil {
						return err
					}
				}
				return f.print(c.OutOrStdout(), changes{"discarded", ids})
			}
			sweep.past = "discarded"
			return f.sweep(c, b, sweep, b.discardPage)
		}),
	}
	c.Args = cobra.ArbitraryArgs
	sweep.flags(c, "discard all that are on the list")
	return c
}

// discardPage removes jobs from the list, whatever their records say.
func (b *backend) discardPage(ctx context.Context, page []inspect.DeadJob) ([]bool, error) {
	ids := make([]string, len(page))
	done := make([]bool, len(page))
	for i, j := range page {
		ids[i], done[i] = j.ID, true
	}
	if err := b.redis.ZRem(ctx, b.scripts.Dead(), anys(ids)...).Err(); err != nil {
		return nil, fmt.Errorf("discard: %w", err)
	}
	return done, nil
}

func anys(texts []string) []any {
	list := make([]any, len(texts))
	for i, t := range texts {
		list[i] = t
	}
	return list
}
