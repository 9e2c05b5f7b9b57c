package command

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/scripts"
)

func newQuarantineShow(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "show ENTRY",
		Short: "Show a quarantined entry and what to do about it",
		Args:  cobra.ExactArgs(1),
		RunE: f.connected(func(c *cobra.Command, b *backend, names []string) error {
			found, err := b.Operate.Quarantine.Find(c.Context(), names)
			if err != nil {
				return err
			}
			v, err := b.Inspect.Quarantine.Details(c.Context(), found[0])
			if err != nil {
				return err
			}
			rows := []table.Row{{"entry", v.Entry}, {"when", words.Stamp(v.At)},
				{"came from", strings.TrimSpace(v.Stream + " " + v.Origin)}, {"reason", v.Reason}}
			for _, name := range slices.Sorted(maps.Keys(v.Parts)) {
				rows = append(rows, table.Row{"field " + name, v.Parts[name]})
			}
			if !v.Whole {
				rows = append(rows, table.Row{"truncated", "the quarantine keeps only this part: " + v.Fields})
			}
			if v.Again != "" {
				rows = append(rows, table.Row{"still invalid", v.Again})
			}
			for _, next := range v.Next {
				rows = append(rows, table.Row{"next", next})
			}
			return f.print(c, v, table.Row{"what", "is"}, rows, table.ColumnConfig{Number: 2, WidthMax: 100})
		}),
	}
}

func newQuarantineRequeue(f *flags) *cobra.Command {
	var all bool
	var match string
	var due dueFlags
	c := &cobra.Command{
		Use:   "requeue ENTRY… | --all | --match PATTERN",
		Short: "Put entries back where they came from",
		Long: `Requeue puts an entry back into the stream or sorted set that it came from, in the right
partition, and then removes it from the quarantine. An entry of a sorted set becomes due
now, or at the time of --in or --at.

Requeue refuses an entry that would be quarantined again for the same reason, as far as it
can tell, and an entry of more than 1 KB, because the quarantine has cut it. fanfold
quarantine show says why.`,
		Args: cobra.ArbitraryArgs,
		RunE: f.connected(func(c *cobra.Command, b *backend, names []string) error {
			if ways := len(names) > 0; ways == (all || match != "") || all && match != "" {
				return fault.Input.New("give entries as fanfold quarantine ls shows them, --all or --match")
			}
			if err := due.check(false); err != nil {
				return err
			}
			entries, err := b.Operate.Quarantine.Find(c.Context(), names)
			if err != nil {
				return err
			}
			if len(names) == 0 {
				matches, err := glob(match)
				if err != nil {
					return err
				}
				entries, err = b.Inspect.Quarantine.List(c.Context(),
					func(e inspect.Quarantined) bool { return matches(e.Reason) || matches(e.Fields) }, 0)
				if err != nil {
					return err
				}
				slices.Reverse(entries) // oldest first
			}
			now, err := b.Partitions.First().Now(c.Context())
			if err != nil {
				return err
			}
			done := []outcome{}
			var failed error
			for _, q := range entries {
				what, err := b.Operate.Quarantine.Requeue(c.Context(), q, due.from(now))
				if errors.Is(err, scripts.ErrNotRequeued) {
					what = err.Error()
					if len(names) > 0 {
						failed = errors.Join(failed, fmt.Errorf("%s: %w", q.Entry, err))
					}
				} else if err != nil {
					return errors.Join(f.printRequeued(c, done), err)
				}
				done = append(done, outcome{ID: q.Entry, Outcome: what})
			}
			return cmp.Or(f.printRequeued(c, done), failed)
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "requeue all current entries, except refused ones")
	c.Flags().StringVar(&match, "match", "",
		"requeue entries whose reason or fields match this pattern, such as '*no record*', except refused ones")
	c.Flags().Var((*durationValue)(&due.in), "in",
		"due time of entries from a sorted set, such as 90s, 24h or 1w from now")
	c.Flags().StringVar(&due.at, "at", "",
		"the due time as a point in time, such as 2030-01-31T09:00:00+01:00, '2030-01-31 09:00' (in this machine's time zone), or unix seconds or milliseconds")
	return c
}

func (p printer) printRequeued(c *cobra.Command, done []outcome) error {
	return printList(p, c, done, table.Row{"entry", "outcome"},
		func(o outcome) table.Row { return table.Row{o.ID, o.Outcome} })
}
