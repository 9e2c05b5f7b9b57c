package command

import (
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/words"
)

func newQuarantine(f *flags) *cobra.Command {
	c := &cobra.Command{
		Use:   "quarantine",
		Short: "List, requeue and remove unusable entries",
		Long: `The quarantine holds entries that Fanfold cannot use: ids without a record, malformed
entries, timers that match no definition. Fanfold does not read them again. Fix what the
reason names and requeue the entry, or remove it. The quarantine keeps about 10,000
entries and drops the oldest.`,
	}
	list := newListing(f, "List quarantined entries with their reasons, newest first",
		"only entries whose reason or fields match this pattern, such as '*no record*'",
		func(c *cobra.Command, b *backend, matches func(string) bool, limit int) error {
			matching := func(e inspect.Quarantined) bool { return matches(e.Reason) || matches(e.Fields) }
			list, err := b.Inspect.Quarantine.List(c.Context(), matching, limit)
			if err != nil {
				return err
			}
			if err := printList(f.printer, c, list, table.Row{"entry", "when", "stream", "reason", "fields"},
				func(e inspect.Quarantined) table.Row {
					return table.Row{e.Entry, words.Stamp(e.At), e.Stream, e.Reason, e.Fields}
				},
				table.ColumnConfig{Number: 4, WidthMax: 60},
				table.ColumnConfig{Number: 5, WidthMax: 60}); err != nil {
				return err
			}
			return f.printCut(c, len(list), limit, func() (n int64, err error) {
				all, err := b.Inspect.Quarantine.List(c.Context(), matching, 0)
				return int64(len(all)), err
			})
		})
	c.AddCommand(list, newQuarantineShow(f), newQuarantineRequeue(f), newQuarantineRemove(f))
	return c
}

func newQuarantineRemove(f *flags) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "rm ENTRY… | --all",
		Short: "Remove entries from the quarantine",
		Args:  cobra.ArbitraryArgs,
		RunE: f.connected(func(c *cobra.Command, b *backend, entries []string) error {
			if all == (len(entries) > 0) {
				return fault.Input.New("give entries as fanfold quarantine ls shows them, or --all")
			}
			if all {
				list, err := b.Inspect.Quarantine.List(c.Context(), func(inspect.Quarantined) bool { return true }, 0)
				if err != nil {
					return err
				}
				entries = []string{}
				for _, e := range list {
					entries = append(entries, e.Entry)
				}
			}
			removed, err := b.Operate.Quarantine.Remove(c.Context(), entries)
			if err != nil {
				return err
			}
			if missing := len(entries) - removed; !all && missing > 0 {
				return fault.NotFound.New("%d of %d entries are not in %s; the others were removed", missing,
					len(entries), b.Partitions.First().Keys.Quarantined)
			}
			return f.printChanged(c, "removed", entries)
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "remove all current entries")
	return c
}
