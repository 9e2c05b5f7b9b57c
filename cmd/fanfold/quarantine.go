package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
)

func newQuarantine(f *flags) *cobra.Command {
	c := &cobra.Command{
		Use:   "quarantine",
		Short: "List and remove entries that could not be used",
		Long: `Quarantine works on the entries that were put aside because they cannot be used:
pushed ids without a record, malformed entries, timers that no definition matches.
Nothing reads them again. Fix what the reason names and push the id with fanfold
submit; then remove the entry. The oldest of about 10,000 are removed by themselves.`,
	}
	c.AddCommand(newQuarantineList(f), newQuarantineRemove(f))
	return c
}

func newQuarantineList(f *flags) *cobra.Command {
	var match string
	var limit int
	c := &cobra.Command{
		Use:   "ls",
		Short: "List quarantined entries with their reasons, the newest first",
		RunE: f.connected(func(c *cobra.Command, b *backend, _ []string) error {
			matches, err := glob("match", match)
			if err != nil {
				return err
			}
			if err := atLeastOne(limit); err != nil {
				return err
			}
			list, err := b.quarantine(c.Context(), func(e quarantinedEntry) bool { return matches(e.Reason) || matches(e.Fields) }, limit)
			if err != nil {
				return err
			}
			return f.print(c.OutOrStdout(), list)
		}),
	}
	c.Flags().StringVar(&match, "match", "", "only those whose reason or fields are like this, such as '*no record*'")
	c.Flags().IntVar(&limit, "limit", 50, "how many")
	return c
}

var entryName = regexp.MustCompile(`^[0-9]{1,20}-[0-9]{1,20}$`)

func newQuarantineRemove(f *flags) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "rm ENTRY… | --all",
		Short: "Remove entries from the quarantine",
		Args:  cobra.ArbitraryArgs,
		RunE: f.connected(func(c *cobra.Command, b *backend, entries []string) error {
			if all == (len(entries) > 0) {
				return usage(errors.New("give entries as fanfold quarantine ls shows them, or --all"))
			}
			for _, e := range entries {
				if !entryName.MatchString(e) {
					return usage(fmt.Errorf("%.80q is no entry: fanfold quarantine ls shows their names, such as 1700000000000-0", e))
				}
			}
			if all {
				list, err := b.quarantine(c.Context(), func(quarantinedEntry) bool { return true }, 0)
				if err != nil {
					return err
				}
				for _, e := range list {
					entries = append(entries, e.Entry)
				}
			}
			var removed int64
			for page := range slices.Chunk(entries, scanPage) {
				n, err := b.redis.XDel(c.Context(), b.scripts.Quarantined(), page...).Result()
				if err != nil {
					return err
				}
				removed += n
			}
			if missing := len(entries) - int(removed); !all && missing > 0 {
				return coded{fmt.Errorf("%d of %d entries are not in %s; the others are removed", missing, len(entries), b.scripts.Quarantined()), exitNotFound}
			}
			return f.print(c.OutOrStdout(), changes{"removed", append([]string{}, entries...)})
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "remove all that are there now")
	return c
}

// quarantinedEntry is an entry of the quarantine as people see it.
type quarantinedEntry struct {
	Entry  string    `json:"entry"` // its name in the quarantine
	At     time.Time `json:"at"`
	Stream string    `json:"stream"` // from which it came
	Reason string    `json:"reason"`
	Fields string    `json:"fields"` // what it was, at most 1 KB
}

type quarantinedEntries []quarantinedEntry

func (es quarantinedEntries) table(t table.Writer) {
	t.AppendHeader(table.Row{"entry", "when", "stream", "reason", "fields"})
	for _, e := range es {
		t.AppendRow(table.Row{e.Entry, stamp(e.At), e.Stream, e.Reason, e.Fields})
	}
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 4, WidthMax: 60}, {Number: 5, WidthMax: 60}})
}

// quarantine reads the entries that are meant, the newest first, at most that many
// (0: all).
func (b *backend) quarantine(ctx context.Context, meant func(quarantinedEntry) bool, limit int) (quarantinedEntries, error) {
	list := quarantinedEntries{}
	for end := "+"; ; {
		page, err := b.redis.XRevRangeN(ctx, b.scripts.Quarantined(), end, "-", scanPage).Result()
		if err != nil {
			return nil, err
		}
		for _, m := range page {
			e := quarantinedEntry{Entry: m.ID, At: entryTime(m.ID)}
			e.Stream, _ = m.Values["stream"].(string)
			e.Reason, _ = m.Values["reason"].(string)
			e.Fields, _ = m.Values["fields"].(string)
			if meant(e) {
				if list = append(list, e); len(list) == limit {
					return list, nil
				}
			}
		}
		if len(page) < scanPage {
			return list, nil
		}
		end = "(" + page[len(page)-1].ID
	}
}

// checkQuarantine tells of entries that were put aside.
func (b *backend) checkQuarantine(ctx context.Context) finding {
	n, err := b.redis.XLen(ctx, b.scripts.Quarantined()).Result()
	if err == nil && n > 0 {
		var newest quarantinedEntries
		if newest, err = b.quarantine(ctx, func(quarantinedEntry) bool { return true }, 1); err == nil && len(newest) > 0 {
			err = fmt.Errorf("%d entries could not be used, the newest %s: %s", n, stamp(newest[0].At), newest[0].Reason)
		}
	}
	return judge("quarantine", warn, "it is empty", err, "fanfold quarantine ls lists them; fanfold quarantine rm removes what is dealt with")
}
