package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/inspect/why"
	"github.com/fanfold/fanfold/internal/screen"
	"github.com/fanfold/fanfold/internal/words"
)

func newWhy(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "why ID",
		Short: "Say in plain words what a job waits for",
		Long: `Why reads the record and Redis, and tests the databases that the job waits for. It says
what the job waits for, what will happen when, what you can do, and which redis-cli
commands show the same. It changes nothing.

A server that does not answer is a result, too. The exit code is 3 only if neither the
record nor any trace of the id exists.`,
		Args: cobra.ExactArgs(1),
		RunE: f.withIDs(func(c *cobra.Command, b *backend, ids []string) error {
			v, err := why.Of(c.Context(), b.Inspect, ids[0])
			if err != nil {
				return err
			}
			if f.output == "json" {
				err = printJSON(c.OutOrStdout(), v)
			} else {
				course, acts := courseLines(c.Context(), b, v), b.actLines(c.Context(), ids[0])
				_, err = fmt.Fprint(c.OutOrStdout(), verdictText(v, course, acts))
			}
			if err == nil && v.Kind == why.KindNoRecord {
				err = b.Inspect.Jobs.NoRecord(v.ID)
			}
			return err
		}),
	}
}

// courseLines returns how long the steps of a job that has ended waited and worked, for people; empty: it is not known.
func courseLines(ctx context.Context, b *backend, of why.Verdict) (lines []string) {
	if of.Kind != why.KindEnded {
		return nil
	}
	v, err := b.Inspect.Jobs.Get(ctx, of.ID)
	if err != nil {
		return nil // the verdict says that a server does not answer
	}
	addManifest(ctx, b, &v)
	if v.Queued() > 0 {
		lines = append(lines, "queue: waited "+words.Short(v.Queued()))
	}
	for name, text := range course(v) {
		lines = append(lines, name+": "+text)
	}
	return lines
}

// verdictText formats a verdict for people, with what the steps and people did.
func verdictText(v why.Verdict, course, acts []string) string {
	var text strings.Builder
	line := func(format string, args ...any) {
		text.WriteString(screen.OneLine(fmt.Sprintf(format, args...)) + "\n")
	}
	list := func(title string, items []string) {
		if len(items) > 0 {
			line("")
			line("%s:", title)
		}
		for _, item := range items {
			line("  %s", item)
		}
	}
	line("%s", v.Summary)
	if v.Status != "" {
		line("  record: %s, report %s, attempt %d", v.Status, v.Report, v.Attempt)
	}
	if v.Job != "" {
		stage := ""
		if v.Stage > 0 { // 0 after the end
			stage = fmt.Sprintf(", stage %d", v.Stage)
		}
		line("  job:    %s%s", v.Job, stage)
	}
	for _, d := range v.Details {
		line("  %s", d)
	}
	for _, s := range v.Steps {
		line("  %s: %s", s.Name, s.Says)
	}
	var upcoming []string
	for _, u := range v.Upcoming {
		upcoming = append(upcoming, words.Stamp(u.At)+" ("+words.When(u.At, v.Now)+"): "+u.What)
	}
	list("What its steps did", course)
	list("What people did", acts)
	list("What will happen", upcoming)
	list("What you can do", v.Remedies)
	list("See for yourself", v.Commands)
	return text.String()
}
