package main

import (
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/scripts"
)

func newPause(f *flags) *cobra.Command {
	c := &cobra.Command{
		Use:   "pause",
		Short: "Pause a listener or a report",
		Long: `Within a second of pausing a listener, no process starts a new task of it; running
tasks go on. External listeners cannot be paused; stop the service instead. Jobs of a
paused report do not start: their ids wait in Redis, and no other job waits for them.
Pauses do not count as tries. A pause lasts until it is resumed, also when Redis loses
its memory (after fanfold migrate).

The deadline of a job that waits for a listener runs on, unless its report has
paused_deadline: waits.`,
	}
	c.AddCommand(
		f.named("listener NAME", "Start no new task of a listener", (*config.Config).ListenerNames, func(c *cobra.Command, b *backend, name string) error {
			since, err := b.Operate.Pauses.Listener(c.Context(), name)
			return f.printPaused(c, scripts.PausedListener(name), since, err)
		}),
		f.named("report NAME", "Start no job of a report", (*config.Config).ReportNames, func(c *cobra.Command, b *backend, name string) error {
			since, err := b.Operate.Pauses.Report(c.Context(), name)
			return f.printPaused(c, scripts.PausedReport(name), since, err)
		}),
		&cobra.Command{
			Use: "ls", Short: "List what is paused",
			RunE: f.connected(func(c *cobra.Command, b *backend, _ []string) error {
				list, err := b.Inspect.Pauses(c.Context())
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
		Short: "Resume a listener or a report that is paused",
		Long: `Resume lets the tasks of a listener, or the jobs of a report, begin again: those that
wait come first. What is not paused stays as it is.`,
	}
	c.AddCommand(
		f.named("listener NAME", "Start tasks of a listener again", (*config.Config).ListenerNames, func(c *cobra.Command, b *backend, name string) error {
			was, err := b.Operate.Pauses.ResumeListener(c.Context(), name)
			return f.printResumed(c, scripts.PausedListener(name), was, 0, err)
		}),
		f.named("report NAME", "Start jobs of a report again", (*config.Config).ReportNames, func(c *cobra.Command, b *backend, name string) error {
			was, n, err := b.Operate.Pauses.ResumeReport(c.Context(), name)
			return f.printResumed(c, scripts.PausedReport(name), was, n, err)
		}),
	)
	return c
}

// named makes a command whose argument is one of the names of a configuration.
func (f *flags) named(use, short string, names func(*config.Config) []string, run func(c *cobra.Command, b *backend, name string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1), ValidArgsFunction: f.complete(names),
		RunE: f.connected(func(c *cobra.Command, b *backend, args []string) error { return run(c, b, args[0]) }),
	}
}

// printPaused prints since when something is paused.
func (f *flags) printPaused(c *cobra.Command, what string, since time.Time, err error) error {
	if err != nil {
		return err
	}
	return f.printPauses(c, []inspect.Pause{{What: what, Since: since}})
}

func (f *flags) printPauses(c *cobra.Command, list []inspect.Pause) error {
	return printList(f, c, list, table.Row{"paused", "since", "ids that wait"}, func(p inspect.Pause) table.Row {
		waiting := ""
		if p.Waiting > 0 {
			waiting = fmt.Sprint(p.Waiting)
		}
		return table.Row{p.What, inspect.Stamp(p.Since), waiting}
	})
}

// printResumed prints what resume has done, and how many ids of a report were pushed.
func (f *flags) printResumed(c *cobra.Command, what string, was bool, released int, err error) error {
	if err != nil {
		return err
	}
	r := struct {
		What     string `json:"what"`
		Was      bool   `json:"was_paused"`
		Released int    `json:"released"`
	}{what, was, released}
	return f.print(c, r, table.Row{"resumed", "was paused", "ids pushed"}, []table.Row{{what, was, released}})
}
