package command

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/moment"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

func newDelay(f *flags) *cobra.Command {
	c := &cobra.Command{
		Use:   "delay",
		Short: "List and change delayed jobs and retries",
	}
	c.AddCommand(newDelayList(f), newDelayBy(f), newDelayRun(f), newDelayRemove(f))
	return c
}

func newDelayList(f *flags) *cobra.Command {
	return newListing(f, "List delayed jobs, retries and polls of what waits, next due first",
		"only members that match this pattern, such as '1111*' or '*/@fanin'",
		func(c *cobra.Command, b *backend, matches func(string) bool, limit int) error {
			list, err := b.Inspect.Delayed.List(c.Context(),
				func(d inspect.Delayed) bool { return matches(d.Member) }, limit)
			if err != nil {
				return err
			}
			if err := b.Inspect.Delayed.TellWaits(c.Context(), list); err != nil {
				return err
			}
			return f.printDelayed(c, list)
		})
}

func (p printer) printDelayed(c *cobra.Command, list []inspect.Delayed) error {
	return printList(p, c, list, table.Row{"member", "due", "", "what"}, func(d inspect.Delayed) table.Row {
		due, in, what := fmt.Sprint(d.Score), "", d.What
		if d.Due != nil {
			due, in = words.Stamp(*d.Due), words.When(*d.Due, time.Now())
		}
		if d.Bad != "" {
			what += ": " + d.Bad
		}
		return table.Row{d.Member, due, in, what}
	})
}

func newDelayBy(f *flags) *cobra.Command {
	var group groupFlags
	c := &cobra.Command{
		Use:   "by DURATION ID… | DURATION --report NAME | DURATION --param NAME=VALUE",
		Short: "Make jobs that have not started due later",
		Long: `By moves the due time of a delayed job. A job that waits in its lane, or for the end of a
pause of its report, leaves that queue and is due after the duration. By refuses other jobs,
and says why.

With --report or --param, it takes all records that match all flags and have no final status:

    fanfold delay by 2h --param customer=7 --dry-run`,
		Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: func(c *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return f.completeFrom(records(report.Pending))(c, args, begin)
		},
		RunE: f.connected(func(c *cobra.Command, b *backend, args []string) error {
			by, err := moment.ParseDuration(args[0])
			if err != nil || by <= 0 || by > scripts.Horizon {
				return fault.Input.New("%s: %w", report.Shorten(args[0]), moment.ErrDuration)
			}
			ids := args[1:]
			many, err := group.given(b, ids)
			if err = cmp.Or(err, checkIDs(ids)); err != nil {
				return err
			}
			past := "delayed by " + words.Short(by)
			if many {
				done, err := b.Operate.Groups.Postpone(c.Context(), group.Group, by)
				return group.print(f, c, past, done, err)
			}
			done, err := forEach(ids, func(id string) (string, error) {
				return past, b.Operate.Delayed.Postpone(c.Context(), id, by)
			})
			return cmp.Or(f.printOutcomes(c, done), err)
		}),
	}
	group.flags(c)
	return c
}

func newDelayRun(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "run ID…|MEMBER…",
		Short: "Make delayed jobs and retries due now",
		Long: `Run makes members of the delayed set due now. For an id, these are the job itself and
its retries. A scheduler moves them at once.`,
		Args: cobra.MinimumNArgs(1),
		RunE: f.connected(func(c *cobra.Command, b *backend, args []string) error {
			return changeDelayed(f, c, b, args, "due now", b.Operate.Delayed.Hurry)
		}),
	}
}

func newDelayRemove(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "rm ID…|MEMBER…",
		Short: "Remove delayed jobs and retries",
		Long: `Rm removes members from the delayed set. For an id, it removes the job itself and its
retries.

Records do not change. A PENDING record still counts as work: recovery starts it after
limits.recover_after, unless you cancel it with fanfold cancel. A running job fails at its
deadline if you remove its retry.`,
		Args: cobra.MinimumNArgs(1),
		RunE: f.connected(func(c *cobra.Command, b *backend, args []string) error {
			return changeDelayed(f, c, b, args, "removed", b.Operate.Delayed.Remove)
		}),
	}
}

// changeDelayed changes the members that args name and prints them.
func changeDelayed(f *flags, c *cobra.Command, b *backend, args []string, done string,
	change func(context.Context, []string) error) error {
	members, err := b.Operate.Delayed.Find(c.Context(), args)
	if err != nil {
		return err
	}
	if err := change(c.Context(), members); err != nil {
		return err
	}
	return f.printChanged(c, done, members)
}
