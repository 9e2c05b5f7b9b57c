package fold

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fanfold/fanfold/fold/parse"
	"github.com/fanfold/fanfold/report"
)

// Select returns the SELECT of a report: its fold, or the one that its join stands for. The latter has one line for
// the columns of the file, in their order and without those that are fixed, and one for every listener. It is empty if
// the report has neither.
func Select(r *report.Report) string {
	if r.Fold != "" || len(r.Join.Listeners) == 0 {
		return r.Fold
	}
	return short{r.Join}.text(r.File)
}

// short is the short form of a SELECT. Every listener is joined on the key of those before it that can begin a row:
// the first one, and all that are joined as full.
type short struct{ report.Join }

func (s short) text(f report.File) string {
	var items []string
	taken := map[string]bool{}
	for i, c := range f.Columns {
		if _, fixed := f.Fixed[i]; fixed {
			continue
		}
		item, name := columnOf(c.Listener, c.Column), c.Column
		if c.Listener == "" {
			item, name = s.key(slices.Index(s.Keys, c.Column), len(s.Listeners))
		}
		if alias := aliasOf(c.Label, i, taken); alias != name {
			item += " AS " + parse.Quoted(alias)
		}
		items = append(items, item)
	}
	if items == nil {
		items = []string{"1"}
	}
	text := "SELECT " + strings.Join(items, ", ") + "\nFROM " + tableOf(s.Listeners[0].Listener)
	for n, l := range s.Listeners[1:] {
		text += "\n" + map[report.JoinType]string{report.Left: "LEFT ", report.Full: "FULL "}[l.Type] + "JOIN " +
			tableOf(l.Listener)
		for k, column := range l.Keys {
			key, _ := s.key(k, n+1)
			text += []string{" ON ", " AND "}[min(k, 1)] + columnOf(l.Listener, column) + " = " + key
		}
	}
	return text
}

// key returns key k of the rows of the first n listeners, and its name if it is a column.
func (s short) key(k, n int) (item, name string) {
	first := s.Listeners[0]
	all := []string{columnOf(first.Listener, first.Keys[k])}
	for _, l := range s.Listeners[1:n] {
		if l.Type == report.Full {
			all = append(all, columnOf(l.Listener, l.Keys[k]))
		}
	}
	if len(all) == 1 {
		return all[0], first.Keys[k]
	}
	return "COALESCE(" + strings.Join(all, ", ") + ")", ""
}

// aliasOf returns the name of column i of the file: its label, if a SELECT can have it. It adds it to those taken.
func aliasOf(label string, i int, taken map[string]bool) string {
	name, length := label, utf8.RuneCountInString(label)
	for length == 0 || length > parse.MaxName || taken[strings.ToLower(name)] {
		i++
		name, length = fmt.Sprintf("column %d", i), 1
	}
	taken[strings.ToLower(name)] = true
	return name
}

// tableOf returns the name of a listener as a SELECT has it.
func tableOf(listener string) string {
	parts := strings.Split(listener, ".")
	for i, part := range parts {
		if parts[i] = parse.Quoted(part); parts[i] != part {
			return parse.Quoted(listener)
		}
	}
	return listener
}

func columnOf(listener, column string) string { return tableOf(listener) + "." + parse.Quoted(column) }
