package screen

import (
	"fmt"

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

// Columns returns the configuration of a table's columns. On a terminal, columns are narrowed so
// that the table fits, if possible.
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
				c.Number, c.WidthMaxEnforcer = i+1, Wrap
				if !terminal || !Colours() {
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
	for i, n := range Fit(widths, width) {
		columns[i].WidthMax = n
	}
	return columns
}
