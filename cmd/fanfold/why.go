package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
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
			v, err := b.inspect.Why(c.Context(), ids[0])
			if err != nil {
				return err
			}
			if f.output == "json" {
				err = printJSON(c.OutOrStdout(), v)
			} else {
				err = explainTo(c.OutOrStdout(), v)
			}
			if err == nil && v.Kind == inspect.KindNoRecord {
				err = b.inspect.NoRecord(v.ID)
			}
			return err
		}),
	}
}

// explainTo writes a verdict for people.
func explainTo(w io.Writer, v inspect.Verdict) error {
	p := &paragraphs{w: w}
	p.line("%s", v.Summary)
	if v.Status != "" {
		p.line("  record: %s, report %s, attempt %d", v.Status, v.Report, v.Attempt)
	}
	if v.Job != "" {
		p.line("  job:    %s, stage %d", v.Job, v.Stage)
	}
	for _, d := range v.Details {
		p.line("  %s", d)
	}
	for _, s := range v.Steps {
		p.line("  %s: %s", s.Name, s.Says)
	}
	p.list("What will happen", len(v.Upcoming), func(i int) string {
		return inspect.Stamp(v.Upcoming[i].At) + " (" + inspect.When(v.Upcoming[i].At, v.Now) + "): " + v.Upcoming[i].What
	})
	p.list("What you can do", len(v.Remedies), func(i int) string { return v.Remedies[i] })
	p.list("See for yourself", len(v.Commands), func(i int) string { return v.Commands[i] })
	return p.err
}

// paragraphs writes lines and keeps the first error.
type paragraphs struct {
	w   io.Writer
	err error
}

func (p *paragraphs) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.w, oneLine(fmt.Sprintf(format, args...)))
	}
}

func (p *paragraphs) list(title string, n int, item func(int) string) {
	if n > 0 {
		p.line("")
		p.line("%s:", title)
	}
	for i := range n {
		p.line("  %s", item(i))
	}
}
