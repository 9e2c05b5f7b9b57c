package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
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
		&cobra.Command{
			Use: "listener NAME", Short: "Start no new task of a listener", Args: cobra.ExactArgs(1), ValidArgsFunction: f.complete((*backend).listenerNames),
			RunE: f.connected(func(c *cobra.Command, b *backend, args []string) error {
				if !slices.Contains(b.listenerNames(), args[0]) {
					return usage(fmt.Errorf("unknown listener %q. Available: %s", args[0], strings.Join(b.listenerNames(), ", ")))
				}
				if b.isExternal(args[0]) {
					return usage(fmt.Errorf("listener %s is external and cannot be paused: stop the service that reads %s instead", args[0], b.scripts.Task(args[0])))
				}
				return f.pause(c, b, scripts.PausedListener(args[0]))
			}),
		},
		&cobra.Command{
			Use: "report NAME", Short: "Start no job of a report", Args: cobra.ExactArgs(1), ValidArgsFunction: f.complete((*backend).reportNames),
			RunE: f.connected(func(c *cobra.Command, b *backend, args []string) error {
				if b.config.Reports[args[0]] == nil {
					return usage(b.noReport(args[0]))
				}
				return f.pause(c, b, scripts.PausedReport(args[0]))
			}),
		},
		&cobra.Command{
			Use: "ls", Short: "List what is paused", Args: cobra.NoArgs,
			RunE: f.connected(func(c *cobra.Command, b *backend, _ []string) error {
				list, err := b.inspect.Pauses(c.Context())
				if err != nil {
					return err
				}
				return f.print(c.OutOrStdout(), pausedList(list))
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
		&cobra.Command{
			Use: "listener NAME", Short: "Start tasks of a listener again", Args: cobra.ExactArgs(1), ValidArgsFunction: f.complete((*backend).listenerNames),
			RunE: f.connected(func(c *cobra.Command, b *backend, args []string) error {
				was, err := b.scripts.ResumeListener(c.Context(), args[0])
				if err != nil {
					return err
				}
				return f.print(c.OutOrStdout(), resumed{What: scripts.PausedListener(args[0]), Was: was})
			}),
		},
		&cobra.Command{
			Use: "report NAME", Short: "Start jobs of a report again", Args: cobra.ExactArgs(1), ValidArgsFunction: f.complete((*backend).reportNames),
			RunE: f.connected(func(c *cobra.Command, b *backend, args []string) error {
				was, n, err := b.scripts.ResumeReport(c.Context(), args[0])
				if err != nil {
					return err
				}
				return f.print(c.OutOrStdout(), resumed{What: scripts.PausedReport(args[0]), Was: was, Released: n})
			}),
		},
	)
	return c
}

// pause pauses a member and says since when it is.
func (f *flags) pause(c *cobra.Command, b *backend, member string) error {
	since, err := b.scripts.Pause(c.Context(), member)
	if err != nil {
		return err
	}
	return f.print(c.OutOrStdout(), pausedList{{What: member, Since: since}})
}

// listenerNames are those of all reports, each once.
func (b *backend) listenerNames() []string {
	names := map[string]bool{}
	for _, r := range b.config.Reports {
		for _, s := range r.Stages {
			for _, l := range s.Listeners {
				names[l.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// isExternal tells whether a listener is not read by Fanfold.
func (b *backend) isExternal(name string) bool {
	for _, r := range b.config.Reports {
		if l, _, ok := r.Listener(name); ok && l.Kind == report.External {
			return true
		}
	}
	return false
}

// pausedList is what is paused.
type pausedList []inspect.Pause

func (l pausedList) table(t table.Writer) {
	t.AppendHeader(table.Row{"paused", "since", "ids that wait"})
	for _, p := range l {
		waiting := ""
		if p.Waiting > 0 {
			waiting = fmt.Sprint(p.Waiting)
		}
		t.AppendRow(table.Row{p.What, inspect.Stamp(p.Since), waiting})
	}
}

// resumed is what resume has done.
type resumed struct {
	What     string `json:"what"`
	Was      bool   `json:"was_paused"`
	Released int    `json:"released"` // ids of a report that were pushed
}

func (r resumed) table(t table.Writer) {
	t.AppendHeader(table.Row{"resumed", "was paused", "ids pushed"})
	t.AppendRow(table.Row{r.What, r.Was, r.Released})
}
