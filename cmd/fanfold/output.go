package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/internal/screen"
	"github.com/fanfold/fanfold/operate"
)

// print writes a result in the form that the user asked for: as JSON, or as a table. On a
// terminal, a table is as wide as that at most, and has colours. Elsewhere a row is one line, unless a
// cell has several.
func (f *flags) print(c *cobra.Command, result any, header table.Row, rows []table.Row, columns ...table.ColumnConfig) error {
	w := c.OutOrStdout()
	if f.output == "json" {
		return printJSON(w, result)
	}
	terminal, width := screen.Terminal(w)
	t := newTable(header, rows)
	t.SetColumnConfigs(fitted(header, rows, columns, terminal != nil, width))
	if terminal != nil {
		w = terminal // which is to obey the colours; what the cells have of others is visible
	}
	_, err := fmt.Fprintln(w, t.Render())
	return err
}

// newTable makes a table of rows, in which a terminal finds nothing that it would obey.
func newTable(header table.Row, rows []table.Row) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options = table.OptionsNoBordersAndSeparators
	t.Style().Format.Header = text.FormatUpper
	t.AppendHeader(header)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = screen.Visible(fmt.Sprint(cell)) // so that the widths are right
		}
		t.AppendRow(row)
	}
	return t
}

// fitted are the columns of a table: on a terminal as wide that the table fits, if that can be.
func fitted(header table.Row, rows []table.Row, given []table.ColumnConfig, terminal bool, width int) []table.ColumnConfig {
	of := map[int]table.ColumnConfig{}
	for _, c := range given {
		of[c.Number] = c
	}
	var columns []table.ColumnConfig
	var widths []int
	for _, row := range append([]table.Row{header}, rows...) {
		for i, cell := range row {
			if i == len(columns) {
				c := of[i+1]
				c.Number, c.WidthMaxEnforcer = i+1, screen.Wrap
				if !terminal || !screen.Colours() {
					c.Transformer = nil
				}
				columns, widths = append(columns, c), append(widths, 0)
			}
			if n := text.LongestLineLen(fmt.Sprint(cell)); !columns[i].Hidden {
				widths[i] = max(widths[i], n)
			}
		}
	}
	for i := range columns {
		if columns[i].WidthMax > 0 {
			widths[i] = min(widths[i], columns[i].WidthMax)
		}
		if columns[i].WidthMax = 0; !columns[i].Hidden {
			width -= 2 // the spaces around it
		}
	}
	if !terminal {
		return columns
	}
	for i, n := range screen.Fit(widths, width) {
		columns[i].WidthMax = n
	}
	return columns
}

// printList prints a list: as a table, a row for each entry.
func printList[T any](f *flags, c *cobra.Command, list []T, header table.Row, row func(T) table.Row, columns ...table.ColumnConfig) error {
	if list == nil {
		list = []T{} // null in JSON is no list
	}
	var rows []table.Row
	for _, one := range list {
		rows = append(rows, row(one))
	}
	return f.print(c, list, header, rows, columns...)
}

// printNames prints a list of names.
func (f *flags) printNames(c *cobra.Command, title string, names []string) error {
	return printList(f, c, names, table.Row{title}, func(name string) table.Row { return table.Row{name} })
}

// printChanged prints what a command has done, and to what.
func (f *flags) printChanged(c *cobra.Command, done string, names []string) error {
	if f.output != "json" {
		return f.printNames(c, done, names)
	}
	return printJSON(c.OutOrStdout(), struct {
		Done  string   `json:"done"`
		Names []string `json:"names"`
	}{done, names})
}

// printJSON writes a result for programs.
func printJSON(w io.Writer, result any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(result)
}

// outcome is what became of an id.
type outcome struct {
	ID      string `json:"id"`
	Outcome string `json:"outcome"` // what was done, or refused
}

func (f *flags) printOutcomes(c *cobra.Command, done []outcome) error {
	return printList(f, c, done, table.Row{"id", "outcome"}, func(o outcome) table.Row { return table.Row{o.ID, o.Outcome} })
}

// each does something to every id. Refusals hold up no other one; another error ends it.
// The error has the worst code of them all.
func each(ids []string, do func(id string) (string, error)) (done []outcome, err error) {
	for _, id := range ids {
		what, one := do(id)
		if one != nil {
			err, what = worst(err, one), "refused"
			if !operate.Refused(one) {
				return done, err
			}
		}
		done = append(done, outcome{ID: id, Outcome: what})
	}
	return done, err
}

// worst joins errors. Their code is the highest one.
func worst(errs ...error) error {
	code := exitOK
	for _, err := range errs {
		if err != nil {
			code = max(code, exitCode(err))
		}
	}
	if code == exitOK {
		return nil
	}
	return coded{errors.Join(errs...), code}
}

// glob makes a test for texts from a pattern with *, ? and [a-z]; an empty one
// matches all. Unlike in file names, * also matches a slash.
func glob(pattern string) (func(text string) bool, error) {
	if pattern == "" {
		return func(string) bool { return true }, nil
	}
	plain := func(text string) string { return strings.ReplaceAll(text, "/", "\x00") }
	pattern = plain(pattern)
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, usage(fmt.Errorf("--match: a pattern has *, ? and [a-z]: %w", err))
	}
	return func(text string) bool {
		ok, _ := path.Match(pattern, plain(text))
		return ok
	}, nil
}

// listing makes a command that prints up to limit of what matches; help says what is
// matched.
func listing(f *flags, short, help string, print func(c *cobra.Command, b *backend, matches func(string) bool, limit int) error) *cobra.Command {
	var match string
	var limit int
	c := &cobra.Command{
		Use:   "ls",
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
	c.Flags().IntVar(&limit, "limit", 50, "how many")
	return c
}

// positive proves a --limit.
func positive(limit int) error {
	if limit < 1 {
		return usage(fmt.Errorf("--limit: %d is less than 1", limit))
	}
	return nil
}
