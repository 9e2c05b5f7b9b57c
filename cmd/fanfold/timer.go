package main

import (
	"context"
	"errors"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/operate"
)

func newTimer(f *flags) *cobra.Command {
	c := &cobra.Command{
		Use:   "timer",
		Short: "List timers, and set, pause, resume, fire or remove them",
		Long: `Timer works on the timers that services set with SET … EX or ZADD. What happens
when one fires is under timers in the configuration.`,
	}
	list := listing(f, "List timers, the next one first", "only names like this, such as 'send_message-42-*'",
		func(c *cobra.Command, b *backend, matches func(string) bool, limit int) error {
			list, err := b.Inspect.Timers(c.Context(), matches, limit)
			if err != nil {
				return err
			}
			return f.printTimers(c, list)
		})
	c.AddCommand(list, newTimerSet(f),
		newTimerChange(f, "pause", "paused", "Keep timers from firing; they keep their time", operate.Timers.Pause),
		newTimerChange(f, "resume", "resumed", "Let paused timers fire again, those at once whose time has passed", operate.Timers.Resume),
		newTimerChange(f, "fire", "fired", "Fire timers now, set or not; one that repeats keeps its next time", operate.Timers.Fire),
		newTimerChange(f, "rm", "removed", "Remove timers and their keys", func(t operate.Timers, ctx context.Context, name string) (time.Time, error) {
			return time.Time{}, t.Remove(ctx, name)
		}),
	)
	return c
}

func newTimerSet(f *flags) *cobra.Command {
	var due later
	c := &cobra.Command{
		Use:   "set NAME [--in DURATION | --at TIME]",
		Short: "Set a timer, in place of what it was set for before",
		Long: `Set sets a timer, as a service does with
  redis-cli ZADD fanfold:timers "$(date -d '+24 hours' +%s)" NAME
and looks first whether a definition matches the name. A paused timer is resumed.
Where the definition has cron, neither --in nor --at means the next of its times.`,
		Args: cobra.ExactArgs(1),
		RunE: f.connected(func(c *cobra.Command, b *backend, names []string) error {
			if err := b.Operate.Timers.Check(names[0], true); err != nil {
				return err
			}
			definition, _, _ := b.Config.Timers.Match(names[0])
			given := c.Flags().Changed("in") || due.at != ""
			if !given && definition.Cron.None() || c.Flags().Changed("in") && due.at != "" {
				return usage(errors.New("give one of --in and --at"))
			}
			if err := due.check(false); err != nil {
				return err
			}
			now, err := b.Partitions.Home().Now(c.Context())
			if err != nil {
				return err
			}
			at := due.from(now)
			if !given {
				at = definition.Cron.Next(now)
			}
			if err := b.Operate.Timers.Set(c.Context(), names[0], at); err != nil {
				return err
			}
			return f.printTimers(c, []inspect.Timer{b.Inspect.Timer(names[0], at, "set")})
		}),
	}
	c.Flags().Var((*span)(&due.in), "in", "from now, such as 90s, 24h or 1w")
	c.Flags().StringVar(&due.at, "at", "", "such as 2030-01-31T09:00:00+01:00, '2030-01-31 09:00' (local), or unix seconds or milliseconds")
	return c
}

// newTimerChange makes a command that does something to timers by their names.
func newTimerChange(f *flags, verb, state, short string, change func(t operate.Timers, ctx context.Context, name string) (time.Time, error)) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " NAME…",
		Short: short,
		Args:  cobra.MinimumNArgs(1),
		RunE: f.connected(func(c *cobra.Command, b *backend, names []string) error {
			for _, name := range names {
				if err := b.Operate.Timers.Check(name, verb == "fire"); err != nil {
					return err
				}
			}
			var changed []inspect.Timer
			var failed error
			for _, name := range names {
				due, err := change(b.Operate.Timers, c.Context(), name)
				if err == nil {
					changed = append(changed, b.Inspect.Timer(name, due, state))
				}
				failed = errors.Join(failed, err)
			}
			if len(changed) > 0 {
				failed = errors.Join(failed, f.printTimers(c, changed))
			}
			return failed
		}),
	}
}

func (f *flags) printTimers(c *cobra.Command, list []inspect.Timer) error {
	return printList(f, c, list, table.Row{"name", "state", "due", "repeats", "definition"}, func(v inspect.Timer) table.Row {
		due := ""
		if v.Due != nil {
			due = inspect.Stamp(*v.Due)
		}
		return table.Row{v.Name, v.State, due, v.Every + v.Cron, v.Definition}
	})
}
