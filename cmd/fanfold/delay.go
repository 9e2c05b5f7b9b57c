package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
)

// scanPage is how many members one round trip reads or changes.
const scanPage = 1000

func newDelay(f *flags) *cobra.Command {
	c := &cobra.Command{
		Use:   "delay",
		Short: "See and change what is due later: jobs and retries",
	}
	c.AddCommand(newDelayList(f), newDelayRun(f), newDelayRemove(f))
	return c
}

func newDelayList(f *flags) *cobra.Command {
	return listing(f, "List what is due later, the next one first", "only members like this, such as '1111*' or '*/@fanin'",
		func(c *cobra.Command, b *backend, matches func(string) bool, limit int) error {
			list, err := b.Inspect.Delayed(c.Context(), func(d inspect.Delayed) bool { return matches(d.Member) }, limit)
			if err != nil {
				return err
			}
			return f.printDelayed(c, list)
		})
}

func (f *flags) printDelayed(c *cobra.Command, list []inspect.Delayed) error {
	return printList(f, c, list, table.Row{"member", "due", "in", "what"}, func(d inspect.Delayed) table.Row {
		due, what := fmt.Sprint(d.Score), d.What
		if d.Due != nil {
			due = inspect.Stamp(*d.Due)
		}
		if d.Bad != "" {
			what += ": " + d.Bad
		}
		return table.Row{d.Member, due, d.In, what}
	})
}

func newDelayRun(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "run ID…|MEMBER…",
		Short: "Make what is due later due now",
		Long: `Run makes members of the delayed set due now; for an id, all that it has there: the
job itself and its retries. A scheduler moves them at once.`,
		Args: cobra.MinimumNArgs(1),
		RunE: f.connected(func(c *cobra.Command, b *backend, args []string) error {
			return f.changeDelayed(c, b, args, "due now", b.hurry)
		}),
	}
}

// hurry makes members due now.
func (b *backend) hurry(ctx context.Context, members []string) error {
	now, err := b.Partitions.Home().Now(ctx)
	if err != nil {
		return err
	}
	// What a scheduler has moved meanwhile must not come again.
	return b.ofMembers(ctx, members, func(p redis.Pipeliner, delayed, member string) {
		p.ZAddXX(ctx, delayed, redis.Z{Score: float64(now.UnixMilli()), Member: member})
	})
}

func newDelayRemove(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "rm ID…|MEMBER…",
		Short: "Remove what is due later",
		Long: `Rm removes members from the delayed set; for an id, all that it has there. Records
are not changed: a PENDING one counts as work to be done, and the rebuild starts
it after limits.grace; fanfold cancel makes sure that it does not. A running
job whose retry is removed fails at its deadline.`,
		Args: cobra.MinimumNArgs(1),
		RunE: f.connected(func(c *cobra.Command, b *backend, args []string) error {
			return f.changeDelayed(c, b, args, "removed", func(ctx context.Context, members []string) error {
				return b.ofMembers(ctx, members, func(p redis.Pipeliner, delayed, member string) { p.ZRem(ctx, delayed, member) })
			})
		}),
	}
}

// ofMembers does something to members of the delayed sets of all partitions: one that a set does
// not have must not matter.
func (b *backend) ofMembers(ctx context.Context, members []string, do func(p redis.Pipeliner, delayed, member string)) error {
	_, err := b.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, m := range members {
			for _, s := range b.Partitions {
				do(p, s.Keys.Delayed(), m)
			}
		}
		return nil
	})
	return err
}

// changeDelayed changes the members that args name, and prints them.
func (f *flags) changeDelayed(c *cobra.Command, b *backend, args []string, done string, change func(context.Context, []string) error) error {
	members, err := b.namedMembers(c.Context(), args)
	if err != nil {
		return err
	}
	for page := range slices.Chunk(members, scanPage) {
		if err := change(c.Context(), page); err != nil {
			return err
		}
	}
	return f.printChanged(c, done, members)
}

// namedMembers finds the members that are named, and for an id all that it has.
// It is an error if one of args finds nothing.
func (b *backend) namedMembers(ctx context.Context, args []string) ([]string, error) {
	left := map[string]bool{}
	var ids, members []string
	for _, a := range args {
		left[a] = true
		if report.ValidID(a) {
			ids = append(ids, a)
			continue
		}
		members = append(members, a)
	}
	found := []string{}
	for _, s := range b.Partitions {
		scores, err := s.Epoch.Scores(ctx, s.Keys.Delayed(), members)
		if err != nil {
			return nil, err
		}
		found = slices.AppendSeq(found, maps.Keys(scores))
		for cursor, more := uint64(0), len(ids) > 0; more; more = cursor != 0 {
			var page []redis.Z
			if page, cursor, err = s.Epoch.ScanSet(ctx, s.Keys.Delayed(), cursor, scanPage); err != nil {
				return nil, err
			}
			for _, z := range page {
				member, _ := z.Member.(string)
				if id, _, _ := strings.Cut(member, "/"); slices.Contains(ids, id) {
					found = append(found, member)
					delete(left, id)
				}
			}
		}
	}
	for _, m := range found {
		delete(left, m)
	}
	members = found
	for _, a := range args {
		if left[a] {
			return nil, coded{fmt.Errorf("%s is not in %s", a, b.Partitions.Home().Keys.Delayed()), exitNotFound}
		}
	}
	slices.Sort(members)
	return slices.Compact(members), nil
}
