package command

import (
	"context"
	"errors"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/operate"
)

func newTimer(f *flags) *cobra.Command {
	c := &cobra.Command{
		Use:   "timer",
		Short: "List, set, pause, resume, fire and remove timers",
		Long: `Services set timers with SET … EX or ZADD. The section timers of the configuration says
what happens when a timer fires.`,
	}
	list := newListing(f, "List timers, next due first",
		"only names that match this pattern, such as 'send_message-42-*'",
		func(c *cobra.Command, b *backend, matches func(string) bool, limit int) error {
			list, err := b.Inspect.Timers.List(c.Context(), matches, limit)
			if err != nil {
				return err
			}
			return f.printTimers(c, list)
		})
	c.AddCommand(list, newTimerSet(f),
		newTimerChange(f, "pause", "paused", "Pause timers: they keep their time and do not fire",
			operate.Timers.Pause),
		newTimerChange(f, "resume", "resumed", "Resume paused timers; overdue ones fire at once",
			operate.Timers.Resume),
		newTimerChange(f, "fire", "fired", "Fire timers now, even if not set; a repeating timer keeps its next time",
			operate.Timers.Fire),
		newTimerChange(f, "rm", "removed", "Remove timers and their keys",
			func(t operate.Timers, ctx context.Context, name string) (time.Time, error) {
				return time.Time{}, t.Remove(ctx, name)
			}),
	)
	return c
}

func newTimerSet(f *flags) *cobra.Command {
	var due dueFlags
	c := &cobra.Command{
		Use:   "set NAME [--in DURATION | --at TIME]",
		Short: "Set a timer, or change its time",
		Long: `Set does the same as a service with

    redis-cli ZADD fanfold:timers "$(date -d '+24 hours' +%s)" NAME

and first checks that a definition matches the name. It also resumes a paused timer. If
the definition has cron, omit --in and --at to use its next time.`,
		Args: cobra.ExactArgs(1),
		RunE: f.connected(func(c *cobra.Command, b *backend, names []string) error {
			if err := b.Operate.Timers.Check(names[0], true); err != nil {
				return err
			}
			definition, _, _ := b.Config.Timers.Match(names[0])
			given := c.Flags().Changed("in") || due.at != ""
			if !given && definition.Cron.None() || c.Flags().Changed("in") && due.at != "" {
				return fault.Input.New("give one of --in and --at")
			}
			if err := due.check(false); err != nil {
				return err
			}
			now, err := b.Partitions.First().Now(c.Context())
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
			return f.printTimers(c, []inspect.Timer{b.Inspect.Timers.Describe(names[0], at, "set")})
		}),
	}
	c.Flags().Var((*durationValue)(&due.in), "in", "due after this time, such as 90s, 24h or 1w")
	c.Flags().StringVar(&due.at, "at", "",
		"due at this time, such as 2030-01-31T09:00:00+01:00, '2030-01-31 09:00' (in this machine's time zone), or unix seconds or milliseconds")
	return c
}

// newTimerChange returns a command that changes timers by name.
func newTimerChange(f *flags, verb, state, short string,
	change func(t operate.Timers, ctx context.Context, name string) (time.Time, error)) *cobra.Command {
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
					changed = append(changed, b.Inspect.Timers.Describe(name, due, state))
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

func (p printer) printTimers(c *cobra.Command, list []inspect.Timer) error {
	return printList(p, c, list, table.Row{"name", "state", "due", "repeats", "definition"},
		func(v inspect.Timer) table.Row {
			due := ""
			if v.Due != nil {
				due = words.Stamp(*v.Due)
			}
			return table.Row{v.Name, v.State, due, v.Every + v.Cron, v.Definition}
		})
}
