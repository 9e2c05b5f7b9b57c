package main

import (
	"encoding/json"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// printer is a result that can be shown as a table; as JSON it is marshalled.
type printer interface {
	table(t table.Writer)
}

// print writes a result in the form that the user asked for.
func (f *flags) print(w io.Writer, result printer) error {
	if f.output == "json" {
		return printJSON(w, result)
	}
	t := cells{table.NewWriter(), onTerminal(w), colours()}
	t.SetOutputMirror(w)
	t.SetStyle(table.StyleLight)
	t.Style().Options = table.OptionsNoBordersAndSeparators
	t.Style().Format.Header = text.FormatUpper
	result.table(t)
	t.Render()
	return nil
}

// printJSON writes a result for programs.
func printJSON(w io.Writer, result any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(result)
}
