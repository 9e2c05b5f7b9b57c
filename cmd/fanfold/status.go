package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/inspect/show"
	"github.com/fanfold/fanfold/report"
)

func newStatus(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "status ID",
		Short: "Show a record and where its job stands",
		Args:  cobra.ExactArgs(1),
		RunE: f.withIDs(func(c *cobra.Command, b *backend, ids []string) error {
			v, err := b.Inspect.Job(c.Context(), ids[0])
			if err != nil {
				return err
			}
			return f.print(c, v, nil, jobRows(v))
		}),
	}
}

// jobRows are those of a job in a table.
func jobRows(v inspect.Job) []table.Row {
	rows := []table.Row{{"id", v.ID}, {"report", v.Report}, {"status", v.Status}, {"attempt", v.Attempt}}
	if v.File != "" {
		rows = append(rows, table.Row{"file", v.File})
	}
	if v.Error != "" {
		rows = append(rows, table.Row{"error", v.Error})
	}
	if v.Job != "" {
		job := v.Job
		if v.Stage > 0 { // it has not ended
			job += fmt.Sprintf(", stage %d", v.Stage)
		}
		if v.Deadline != nil {
			job += ", deadline " + inspect.Stamp(*v.Deadline)
		}
		rows = append(rows, table.Row{"job", job})
	}
	if v.Orphan {
		rows = append(rows, table.Row{"waits", "no process has the definition that it was started with: fanfold adopt " + v.ID + " restarts it with today's"})
	}
	for _, p := range v.Paused {
		rows = append(rows, table.Row{"paused", p})
	}
	for _, l := range v.Listeners {
		rows = append(rows, table.Row{l.Name, stands(l, true)})
	}
	if v.FanIn != nil {
		rows = append(rows, table.Row{"fan-in", stands(*v.FanIn, false)})
	}
	return rows
}

// stands says how a step of a job stands.
func stands(l inspect.Listener, reads bool) string {
	text := l.State
	if reads && l.State != "failed" && l.State != "stopped" {
		text += fmt.Sprintf(", %d rows", l.Rows)
	}
	if l.Tries > 0 {
		text += fmt.Sprintf(", try %d", l.Tries)
	}
	if l.Next != nil {
		text += ", next at " + inspect.Stamp(*l.Next)
	}
	if l.Why != "" {
		text += ": " + l.Why
	}
	return text
}

func newList(f *flags) *cobra.Command {
	var status string
	var limit int
	c := &cobra.Command{
		Use:   "list",
		Short: "List records, most recently changed first",
		RunE: f.connected(func(c *cobra.Command, b *backend, _ []string) error {
			s := report.Status(strings.ToUpper(status))
			if s != "" && !slices.Contains(report.Statuses, s) {
				return usage(fmt.Errorf("--status: %q is none of PENDING, PROCESSING, SUCCESS, PARTIAL, FAILED and CANCELLED", status))
			}
			if err := positive(limit); err != nil {
				return err
			}
			records, err := b.Records.List(c.Context(), s, limit)
			if err != nil {
				return err
			}
			var views jobViews
			for _, r := range records {
				views = append(views, inspect.Job{ID: r.ID, Report: r.Report, Status: r.Status, Attempt: r.Attempt, File: r.File, Error: r.Error})
			}
			return views.print(f, c)
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

// jobViews are jobs in a list.
type jobViews []inspect.Job

func (vs jobViews) print(f *flags, c *cobra.Command) error {
	return printList(f, c, vs, table.Row{"id", "report", "status", "attempt", "file (error)"}, func(v inspect.Job) table.Row {
		return table.Row{v.ID, v.Report, v.Status, v.Attempt, show.About(v)}
	})
}

// failed is the error of jobs that have not made a file.
func (vs jobViews) failed() error {
	var n int
	for _, v := range vs {
		if !v.Status.HasFile() {
			n++
		}
	}
	if n > 0 {
		return jobFailed(fmt.Errorf("%d of %d jobs failed", n, len(vs)))
	}
	return nil
}
