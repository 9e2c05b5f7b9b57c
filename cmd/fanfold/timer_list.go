package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/scripts"
)

func newTimerList(f *flags) *cobra.Command {
	var match string
	var limit int
	c := &cobra.Command{
		Use:   "ls",
		Short: "List timers, the next one first",
		RunE: f.connected(func(c *cobra.Command, b *backend, _ []string) error {
			if limit < 1 {
				return usage(fmt.Errorf("--limit: %d is less than 1", limit))
			}
			views, err := b.timers(c.Context(), match, limit)
			if err != nil {
				return err
			}
			return f.print(c.OutOrStdout(), views)
		}),
	}
	c.Flags().StringVar(&match, "match", "*", "only names like this, such as 'send_message-42-*'")
	c.Flags().IntVar(&limit, "limit", 50, "how many")
	return c
}

// timers lists those that are set and those that are paused.
func (b *backend) timers(ctx context.Context, match string, limit int) (timerViews, error) {
	views := timerViews{}
	now, err := b.redis.Time(ctx).Result()
	if err != nil {
		return nil, err
	}
	for _, paused := range []bool{false, true} {
		state := "set"
		if paused {
			state = "paused"
		}
		found, err := b.scripts.ListTimers(ctx, paused, match, limit)
		if err != nil {
			return nil, err
		}
		for _, t := range found {
			v := b.timerView(t.Name, dueTime(t), state)
			if !paused && t.Finite && now.Sub(dueTime(t)) > missed {
				v.State = "overdue"
			}
			if v.Definition == "" {
				v.State += ", no definition"
			}
			views = append(views, v)
		}
	}
	slices.SortStableFunc(views, func(a, b timerView) int { return a.when().Compare(b.when()) })
	return views[:min(len(views), limit)], nil
}

// dueTime is when a timer is due; one that is never due has none.
func dueTime(t scripts.DueTimer) time.Time {
	if !t.Finite {
		return time.Time{}
	}
	return time.UnixMilli(t.Due)
}

func (v timerView) when() time.Time {
	if v.Due == nil {
		return time.Time{}
	}
	return *v.Due
}
