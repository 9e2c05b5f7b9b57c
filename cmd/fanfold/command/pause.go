package command

import (
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/scripts"
)

func newPause(f *flags) *cobra.Command {
	c := &cobra.Command{
		Use:   "pause",
		Short: "Pause a listener or a report",
		Long: `When you pause a listener, its running tasks continue, and within a second no process
starts a new one. All reports that have a listener of this name wait for it; the answer
lists them. You cannot pause an external listener; stop its service instead. When you
pause a report, within a second no job of it starts. Their ids wait in Redis and do not
delay other jobs.

A pause lasts until you resume it, even if Redis loses its memory (after fanfold
migrate). Pauses do not count as tries. The deadline of a job that waits for a paused
listener moves by that time, unless its report has deadline_during_pause: runs.`,
	}
	c.AddCommand(
		named(f, "listener NAME", "Pause a listener: its new tasks wait", (*config.Config).ListenerNames,
			func(c *cobra.Command, b *backend, name string) error {
				since, err := b.Operate.Pauses.Listener(c.Context(), name)
				return f.printPaused(c, b, scripts.PausedListener(name), since, err)
			}),
		named(f, "report NAME", "Pause a report: its new jobs wait", (*config.Config).ReportNames,
			func(c *cobra.Command, b *backend, name string) error {
				since, err := b.Operate.Pauses.Report(c.Context(), name)
				return f.printPaused(c, b, scripts.PausedReport(name), since, err)
			}),
		&cobra.Command{
			Use: "ls", Aliases: []string{"list"}, Short: "List paused listeners and reports",
			RunE: f.connected(func(c *cobra.Command, b *backend, _ []string) error {
				list, err := b.Inspect.Pauses.List(c.Context())
				if err != nil {
					return err
				}
				return f.printPauses(c, list)
			}),
		},
	)
	return c
}

func newResume(f *flags) *cobra.Command {
	c := &cobra.Command{
		Use:   "resume",
		Short: "Resume a paused listener or report",
		Long: `Resume ends the pause of a listener or a report. Waiting tasks and ids start first.
A task that failed before keeps the time of its next try; fanfold delay run retries it now.
Resuming something that is not paused changes nothing.`,
	}
	c.AddCommand(
		named(f, "listener NAME", "Resume a listener", (*config.Config).ListenerNames,
			func(c *cobra.Command, b *backend, name string) error {
				was, err := b.Operate.Pauses.ResumeListener(c.Context(), name)
				return f.printResumed(c, scripts.PausedListener(name), was, 0, err)
			}),
		named(f, "report NAME", "Resume a report", (*config.Config).ReportNames,
			func(c *cobra.Command, b *backend, name string) error {
				was, n, err := b.Operate.Pauses.ResumeReport(c.Context(), name)
				return f.printResumed(c, scripts.PausedReport(name), was, n, err)
			}),
	)
	return c
}

// named returns a command whose argument is a name from the configuration.
func named(f *flags, use, short string, names func(*config.Config) []string,
	run func(c *cobra.Command, b *backend, name string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1), ValidArgsFunction: f.complete(names),
		RunE: f.connected(func(c *cobra.Command, b *backend, args []string) error { return run(c, b, args[0]) }),
	}
}

// printPaused prints a pause, when it began and what it concerns.
func (p printer) printPaused(c *cobra.Command, b *backend, what string, since time.Time, err error) error {
	if err != nil {
		return err
	}
	return p.printPauses(c, []inspect.Pause{b.Inspect.Pauses.Of(what, since)})
}

func (p printer) printPauses(c *cobra.Command, list []inspect.Pause) error {
	titles := table.Row{"paused", "since", "reports", "waiting ids"}
	return printList(p, c, list, titles, func(p inspect.Pause) table.Row {
		waiting := ""
		if p.Waiting > 0 {
			waiting = fmt.Sprint(p.Waiting)
		}
		return table.Row{p.What, words.Stamp(p.Since), strings.Join(p.Reports, ", "), waiting}
	})
}

// printResumed prints the result of a resume, with the number of ids that it pushed for a report.
func (p printer) printResumed(c *cobra.Command, what string, was bool, released int, err error) error {
	if err != nil {
		return err
	}
	r := struct {
		What     string `json:"what"`
		Was      bool   `json:"was_paused"`
		Released int    `json:"released"`
	}{what, was, released}
	return p.print(c, r, table.Row{"resumed", "was paused", "ids pushed"}, []table.Row{{what, was, released}})
}
