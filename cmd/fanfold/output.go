package main

import (
	"encoding/json"
	"io"
	"sync"
	"time"

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

// stamp writes a time for people: theirs, with its zone.
func stamp(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 -07:00") }

// print writes a result in the form that the user asked for.
func (f *flags) print(w io.Writer, result printer) error {
	if f.output == "json" {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(result)
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
