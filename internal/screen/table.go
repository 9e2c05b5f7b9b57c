package screen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// NewTable returns a table without control characters.
func NewTable(header table.Row, rows []table.Row) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options = table.OptionsNoBordersAndSeparators
	t.Style().Format.Header = text.FormatUpper
	t.AppendHeader(header)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = Visible(fmt.Sprint(cell)) // so that the widths are right
		}
		t.AppendRow(row)
	}
	return t
}

// readable is the width below which no column is cut while others can be omitted.
const readable = 16

// Columns returns the configuration of a table's columns. On a terminal, the table fits its width: columns are
// omitted, the last but one first, until the others are readable. Then cells are cut, the last column first, unless
// a column wraps them.
func Columns(header table.Row, rows []table.Row, given []table.ColumnConfig, terminal bool,
	width int) []table.ColumnConfig {
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
				if c.Number = i + 1; c.WidthMaxEnforcer == nil {
					c.WidthMaxEnforcer = Snip
				}
				if !terminal || !Colours() {
					c.Transformer = nil
				}
				columns, widths = append(columns, c), append(widths, 0)
			}
			widths[i] = max(widths[i], text.LongestLineLen(fmt.Sprint(cell)))
		}
	}
	if !terminal {
		return columns
	}
	var shown []int // columns
	for i, c := range columns {
		if !c.Hidden {
			shown = append(shown, i)
		}
	}
	for len(shown) > 2 && needed(shown, widths) > width {
		omitted := len(shown) - 2
		columns[shown[omitted]].Hidden = true
		shown = slices.Delete(shown, omitted, omitted+1)
	}
	var sizes []int
	for _, i := range shown {
		sizes = append(sizes, widths[i])
		width -= 2 // the spaces around it
	}
	if last := len(sizes) - 1; last >= 0 {
		sizes[last] = max(min(sizes[last], readable), sizes[last]-max(0, sum(sizes)-width))
	}
	for j, n := range Fit(sizes, width) {
		columns[shown[j]].WidthMax = n
	}
	return columns
}

// needed returns the minimum width of a table in which all columns are readable.
func needed(shown, widths []int) (all int) {
	for _, i := range shown {
		all += min(widths[i], readable) + 2
	}
	return all
}

func sum(widths []int) (all int) {
	for _, n := range widths {
		all += n
	}
	return all
}

// Snip makes a text one line, cuts what is too long, and marks the cut with "…". It can have colours.
func Snip(content string, width int) string {
	return text.Snip(strings.ReplaceAll(content, "\n", " "), width, "…")
}
