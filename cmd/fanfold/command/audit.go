package command

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/moment"
	"github.com/fanfold/fanfold/internal/words"
)

// maxActs is how many acts fanfold why and fanfold status show.
const maxActs = 5

func newAudit(f *flags) *cobra.Command {
	var filter inspect.ActFilter
	var since, on string
	var limit int
	c := &cobra.Command{
		Use:   "audit",
		Short: "List who did what, newest first",
		Long: `Audit lists what people did in the dashboard, in the API and on the command line, also if it was
refused: when, who, from where, what, and the answer. The database keeps them for as long as
audit says. An act on more than 100 ids is one entry.

    fanfold audit --id 1111 --since 1d`,
		RunE: f.connected(func(c *cobra.Command, b *backend, _ []string) (err error) {
			if err := positive(limit); err != nil {
				return err
			}
			if filter.Since, err = moment.Ago(since, time.Now(), time.Local); err != nil {
				return fault.Input.New("--since: %w", err)
			}
			filter.On = inspect.ActsOn(on)
			acts, err := b.Inspect.Acts.List(c.Context(), filter, limit)
			if acts == nil {
				return err
			}
			return errors.Join(f.printActs(c, acts), err)
		}),
	}
	c.Flags().StringVar(&filter.Who, "who", "", "only acts of this login or user@host, or pattern such as '*@host'")
	c.Flags().StringVar(&filter.Act, "act", "", "only this act, such as retry, or pattern such as 'timer *'")
	c.Flags().StringVar(&on, "id", "", "only acts on this id, or on what has this name")
	c.Flags().StringVar(&since, "since", "", "only acts since then: 1d, noon, 09:30, yesterday, '2024-06-01 09:30', …")
	c.Flags().IntVar(&limit, "limit", 50, "maximum number of acts")
	return c
}

// actLines returns the newest acts on a job, for people.
func (b *backend) actLines(ctx context.Context, id string) (lines []string) {
	// If Redis is away, the rest of the output says so.
	acts, _ := b.Inspect.Acts.List(ctx, inspect.ActFilter{On: []string{id}}, maxActs)
	for _, a := range acts {
		who := strings.Trim(a.By+", "+a.From, ", ")
		if a.Who != "" {
			who = a.Who + " (" + who + ")"
		}
		line := words.When(a.When, time.Now()) + ": " + a.Act + " by " + who + ": " + a.Answer
		if says := cmp.Or(a.Reason, a.Detail); says != "" {
			line += " (" + says + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

func (p printer) printActs(c *cobra.Command, acts []audit.Act) error {
	header := table.Row{"when", "who", "by", "from", "act", "on", "n", "answer", "detail"}
	return printList(p, c, acts, header, func(a audit.Act) table.Row {
		says := cmp.Or(a.Reason, a.Detail)
		return table.Row{words.Stamp(a.When), a.Who, a.By, a.From, a.Act, a.On, a.N, a.Answer, says}
	}, table.ColumnConfig{Number: 9, WidthMax: 60})
}
