package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/screen"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/operate"
)

// printer writes results to the standard output of a command.
type printer struct {
	output string // table or json
}

// print writes a result as a table or, with -o json, as JSON. On a terminal, the table fits its width
// and has colours. Elsewhere a row is one line, unless a cell has several.
func (p printer) print(c *cobra.Command, result any, header table.Row, rows []table.Row,
	columns ...table.ColumnConfig) error {
	w := c.OutOrStdout()
	if p.output == "json" {
		return printJSON(w, result)
	}
	terminal, width := screen.Terminal(w)
	t := screen.NewTable(header, rows)
	t.SetColumnConfigs(screen.Columns(header, rows, columns, terminal != nil, width))
	if terminal != nil {
		w = terminal // shows the colours; escapes in the cells are visible text
	}
	_, err := fmt.Fprintln(w, t.Render())
	return err
}

// printList prints a list, with one row for every entry.
func printList[T any](p printer, c *cobra.Command, list []T, header table.Row, row func(T) table.Row,
	columns ...table.ColumnConfig) error {
	if list == nil {
		list = []T{} // JSON readers expect [], not null
	}
	var rows []table.Row
	for _, one := range list {
		rows = append(rows, row(one))
	}
	return p.print(c, list, header, rows, columns...)
}

// printCut says below a table of some entries how to see the others; total counts all of them, and is not
// called if none matched the filter or all are shown.
func (p printer) printCut(c *cobra.Command, shown, limit int, total func() (int64, error)) error {
	if p.output == "json" || shown < limit {
		return nil
	}
	n, err := total()
	if err != nil || n <= int64(shown) {
		return err
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s of %s; --limit %d shows all\n", words.Grouped(shown),
		words.Count(n, "entry"), n)
	return err
}

// wrapped is a column whose long cells have several lines on a terminal.
func wrapped(number int) table.ColumnConfig {
	return table.ColumnConfig{Number: number, WidthMaxEnforcer: screen.Wrap}
}

// printNames prints a list of names.
func (p printer) printNames(c *cobra.Command, title string, names []string) error {
	return printList(p, c, names, table.Row{title}, func(name string) table.Row { return table.Row{name} })
}

// printChanged prints what a command did and the names that it changed.
func (p printer) printChanged(c *cobra.Command, done string, names []string) error {
	if p.output != "json" {
		return p.printNames(c, done, names)
	}
	return printJSON(c.OutOrStdout(), struct {
		Done  string   `json:"done"`
		Names []string `json:"names"`
	}{done, names})
}

// printJSON writes a result as indented JSON.
func printJSON(w io.Writer, result any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(result)
}

// outcome says what a command did with an id.
type outcome struct {
	ID      string `json:"id"`
	Outcome string `json:"outcome"` // what was done, or "refused"
}

func (p printer) printOutcomes(c *cobra.Command, done []outcome) error {
	return printList(p, c, done, table.Row{"id", "outcome"},
		func(o outcome) table.Row { return table.Row{o.ID, o.Outcome} }, wrapped(2))
}

// forEach calls do for every id. It continues after a refusal and stops at any other error. It returns
// all errors, joined.
func forEach(ids []string, do func(id string) (string, error)) (done []outcome, err error) {
	for _, id := range ids {
		what, one := do(id)
		if one != nil {
			err, what = errors.Join(err, one), "refused"
			if !operate.Refused(one) {
				return done, err
			}
		}
		done = append(done, outcome{ID: id, Outcome: what})
	}
	return done, err
}

// glob compiles a pattern with *, ? and [a-z]; an empty pattern matches every text. Unlike in file
// names, * also matches a slash.
func glob(pattern string) (func(text string) bool, error) {
	if pattern == "" {
		return func(string) bool { return true }, nil
	}
	plain := func(text string) string { return strings.ReplaceAll(text, "/", "\x00") }
	pattern = plain(pattern)
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, fault.Input.New("--match: not a valid pattern of *, ? and [a-z]: %w", err)
	}
	return func(text string) bool {
		ok, _ := path.Match(pattern, plain(text))
		return ok
	}, nil
}

// newListing returns the command ls, which prints up to --limit entries that match --match; help is the
// help of --match.
func newListing(f *flags, short, help string,
	print func(c *cobra.Command, b *backend, matches func(string) bool, limit int) error) *cobra.Command {
	var match string
	var limit int
	c := &cobra.Command{
		Use: "ls", Aliases: []string{"list"},
		Short: short,
		RunE: f.connected(func(c *cobra.Command, b *backend, _ []string) error {
			matches, err := glob(match)
			if err != nil {
				return err
			}
			if err := positive(limit); err != nil {
				return err
			}
			return print(c, b, matches, limit)
		}),
	}
	c.Flags().StringVar(&match, "match", "", help)
	c.Flags().IntVar(&limit, "limit", 50, "maximum number of entries")
	return c
}

// positive verifies a --limit.
func positive(limit int) error {
	if limit < 1 {
		return fault.Input.New("--limit: %d is less than 1", limit)
	}
	return nil
}
