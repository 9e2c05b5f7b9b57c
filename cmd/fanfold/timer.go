package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/scripts"
)

func newTimer(f *flags) *cobra.Command {
	c := &cobra.Command{
		Use:   "timer",
		Short: "List timers, and set, pause, resume, fire or remove them",
		Long: `Timer works on the timers that services set with SET … EX or ZADD. What happens
when one fires is under timers in the configuration.`,
	}
	c.AddCommand(newTimerList(f), newTimerSet(f),
		newTimerChange(f, "pause", "paused", "Keep timers from firing; they keep their time", func(ctx context.Context, b *backend, name string) (time.Time, error) {
			return b.scripts.PauseTimer(ctx, name)
		}),
		newTimerChange(f, "resume", "resumed", "Let paused timers fire again, those at once whose time has passed", func(ctx context.Context, b *backend, name string) (time.Time, error) {
			return b.scripts.ResumeTimer(ctx, name)
		}),
		newTimerChange(f, "fire", "fired", "Fire timers now, set or not; one that repeats keeps its next time", func(ctx context.Context, b *backend, name string) (time.Time, error) {
			definition, _, _ := b.config.Timers.Match(name)
			return b.scripts.FireTimer(ctx, name, !definition.Every.None())
		}),
		newTimerChange(f, "rm", "removed", "Remove timers and their keys", func(ctx context.Context, b *backend, name string) (time.Time, error) {
			return time.Time{}, b.scripts.RemoveTimer(ctx, name)
		}),
	)
	return c
}

func newTimerSet(f *flags) *cobra.Command {
	var in time.Duration
	var at string
	c := &cobra.Command{
		Use:   "set NAME --in DURATION | --at TIME",
		Short: "Set a timer, in place of what it was set for before",
		Long: `Set sets a timer, as a service does with
  redis-cli ZADD fanfold:timers "$(date -d '+24 hours' +%s)" NAME
and looks first whether a definition matches the name. A paused timer is resumed.`,
		Args: cobra.ExactArgs(1),
		RunE: f.connected(func(c *cobra.Command, b *backend, names []string) error {
			if err := b.checkTimers(names, true); err != nil {
				return err
			}
			if c.Flags().Changed("in") == (at != "") {
				return usage(errors.New("give one of --in and --at"))
			}
			due, err := later{in, at}.check(false, time.Local)
			if err != nil {
				return err
			}
			if at == "" {
				// The clock that decides is Redis's.
				if due, err = b.redis.Time(c.Context()).Result(); err != nil {
					return err
				}
				due = due.Add(in)
			}
			if err := b.scripts.SetTimer(c.Context(), names[0], due); err != nil {
				return err
			}
			return f.print(c.OutOrStdout(), timerViews{b.inspect.Timer(names[0], due, "set")})
		}),
	}
	c.Flags().Var((*span)(&in), "in", "from now, such as 90s, 24h or 1w")
	c.Flags().StringVar(&at, "at", "", "such as 2030-01-31T09:00:00+01:00, '2030-01-31 09:00' (local), or unix seconds or milliseconds")
	return c
}

func newTimerList(f *flags) *cobra.Command {
	var l listing
	return l.command(f, "List timers, the next one first", "only names like this, such as 'send_message-42-*'",
		func(c *cobra.Command, b *backend, matches func(string) bool) (printer, error) {
			list, err := b.inspect.Timers(c.Context(), matches, l.limit)
			return timerViews(list), err
		})
}

// newTimerChange makes a command that does something to timers by their names.
func newTimerChange(f *flags, verb, state, short string, change func(ctx context.Context, b *backend, name string) (time.Time, error)) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " NAME…",
		Short: short,
		Args:  cobra.MinimumNArgs(1),
		RunE: f.connected(func(c *cobra.Command, b *backend, names []string) error {
			if err := b.checkTimers(names, verb == "fire"); err != nil {
				return err
			}
			views := timerViews{}
			var failed error
			for _, name := range names {
				due, err := change(c.Context(), b, name)
				if err != nil {
					failed = errors.Join(failed, err)
					continue
				}
				views = append(views, b.inspect.Timer(name, due, state))
			}
			if len(views) > 0 {
				failed = errors.Join(failed, f.print(c.OutOrStdout(), views))
			}
			return failed
		}),
	}
}

// checkTimers proves that each name can be one, and, where that is asked for,
// that a definition matches it.
func (b *backend) checkTimers(names []string, defined bool) error {
	for _, name := range names {
		if !scripts.ValidTimer(name) {
			return usage(fmt.Errorf("%.80q is no timer's name: 1 to 200 printable ASCII characters without space", name))
		}
		if _, _, ok := b.config.Timers.Match(name); defined && !ok {
			return usage(fmt.Errorf("timer %s: no definition in timers matches this name", name))
		}
	}
	return nil
}

type timerViews []inspect.Timer

func (vs timerViews) table(t table.Writer) {
	t.AppendHeader(table.Row{"name", "state", "due", "every", "definition"})
	for _, v := range vs {
		due := ""
		if v.Due != nil {
			due = inspect.Stamp(*v.Due)
		}
		t.AppendRow(table.Row{v.Name, v.State, due, v.Every, v.Definition})
	}
}
