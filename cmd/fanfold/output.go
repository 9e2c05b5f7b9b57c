package main

import (
	"encoding/json"
	"io"
	"sync"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// printer is a result that can be shown as a table; as JSON it is marshalled.
type printer interface {
	table(t table.Writer)
}

// plain keeps colours out of pipes. The setting is the library's own, for the
// whole process.
var plain = sync.OnceFunc(text.DisableColors)

// print writes a result in the form that the user asked for.
func (f *flags) print(w io.Writer, result printer) error {
	if f.output == "json" {
		return printJSON(w, result)
	}
	plain()
	t := cells{table.NewWriter(), onTerminal(w)}
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
