package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fanfold/fanfold/report"
	"go.yaml.in/yaml/v4"
)

// draftListener is a listener that is being made of its fields. Its Listener becomes
// part of the report when its names are resolved.
type draftListener struct {
	report.Listener
	f       *listenerFields
	columns setting // what to point at if a column is wrong
	stage   int     // from 0
	known   bool    // Columns are known
	source  bool    // a later query uses one of its columns
	whole   bool    // what it asks for could be read
	uses    []use   // names in what it asks for
}

// use is a name in what a listener asks for: a parameter, or <listener>.<column>.
type use struct {
	name   string
	list   bool   // any number of values may stand there
	remedy string // if a list may not stand there
	at     setting
}

func (d *draft) addListener(stage int, f *listenerFields, readers map[string]*draftListener) {
	l := &draftListener{f: f, stage: stage, columns: f.get("columns"), Listener: report.Listener{
		Name: f.Name, Line: f.line, Kind: f.Kind, Timeout: f.Timeout, Retry: d.retry(f.Retry, d.Retry),
	}}
	d.guessed = d.guessed || f.wrong["timeout"] || f.wrong["silence"] || f.wrong["total"]
	switch f.Kind {
	case report.FromMySQL:
		l.readQuery(d.config)
	case report.FromHTTP:
		l.readHTTP(d.config)
	case report.External:
		l.Silence = f.Silence
		for _, c := range f.Typed {
			l.Columns, l.Types = append(l.Columns, c.Name), append(l.Types, c.Type)
		}
	}
	l.known = len(f.fields) > 0 && !f.wrong["columns"] && (l.known || l.columns.given()) && l.checkColumns()
	if !f.has("name") {
		d.nameless = true
		return
	}
	if other := d.listener(l.Name); other != nil {
		f.get("name").problem(fmt.Sprintf("a second listener of this name, first in line %d", other.Line), "Give each listener of a report a name of its own")
		d.nameless = true
		return
	}
	l.readFailure()
	// The listeners of one name share a stream, in all reports: a service must have its own.
	if first, ok := readers[l.Name]; !ok {
		readers[l.Name] = l
	} else if (first.Kind == report.External) != (l.Kind == report.External) {
		f.problem(fmt.Sprintf("%s is of kind %s here, and of kind %s in line %d: both would read one stream", l.Name, l.Kind, first.Kind, first.Line),
			"Give one of them another name")
	}
	d.listeners = append(d.listeners, l)
}

// readQuery takes the query of a database, and the columns that the listener lists or
// its SELECT names.
func (l *draftListener) readQuery(c *Config) {
	if l.f.refer("database", l.f.Database, "databases", sortedKeys(c.Databases)) {
		l.Source = l.f.Database
		if zone := c.Databases[l.Source].TimeZone; zone != "UTC" {
			l.Zone = zone
		}
	}
	at := l.f.get("query")
	if !l.f.has("query") {
		return
	}
	query, err := report.ParseQuery(l.f.Query)
	if wrong := mistake(err, "", ""); wrong != nil {
		at.problem(wrong.Message, "")
		return
	}
	l.Query, l.whole = query, true
	for _, name := range query.Names() {
		l.uses = append(l.uses, use{name, query.Listed(name), fmt.Sprintf("Write IN (:%s)", name), at})
	}
	selected, known := query.SelectList()
	l.Columns = l.f.Columns
	switch {
	case l.columns.given() && known && !l.f.wrong["columns"] && len(l.Columns) != len(selected):
		l.columns.problem(fmt.Sprintf("%d listed, but the query gives %d", len(l.Columns), len(selected)), "The query gives "+report.Listing(selected))
		l.f.wrong["columns"] = true
	case l.columns.given():
	case known:
		l.columns, l.Columns, l.known = at, selected, true
	default:
		at.problem("a query whose columns cannot be read from it",
			"Name each column or give it an alias in place of * and bare expressions, or add columns: [...] with the names in order")
	}
}

// checkColumns proves the names of the columns.
func (l *draftListener) checkColumns() bool {
	if len(l.Columns) == 0 {
		l.columns.problem("no columns", "Name what the query gives")
		return false
	}
	sound := true
	for i, name := range l.Columns {
		switch {
		case name == "" || utf8.RuneCountInString(name) > 64 || strings.ContainsFunc(name, func(c rune) bool { return c == '#' || unicode.IsControl(c) }):
			l.columns.problem(fmt.Sprintf("not a valid name of a column: %q", report.Shorten(name)), "Give it an alias of 1 to 64 characters, without # and control characters")
			sound = false
		case slices.Contains(l.Columns[:i], name):
			l.columns.problem(fmt.Sprintf("two columns named %s", name), "Give one of them an alias: AS …")
			sound = false
		}
	}
	return sound
}

// readFailure takes on_failure. The columns are known.
func (l *draftListener) readFailure() {
	f := l.f.OnFailure
	l.OnFailure = f.Policy
	if !f.given() || f.isText() {
		return
	}
	l.OnFailure, l.Defaults = report.Default, map[string]string{}
	for _, v := range f.Default {
		if v.Value.isNull() {
			v.problem("no value", "Leave the column out: it is empty then")
		} else if text, ok := v.Value.text(); ok && l.gives(v.Name, v.Value) {
			l.Defaults[v.Name] = v.Value.cell(text)
		}
	}
}

// cell is the JSON of a value: a number if it is one and has no quotes.
func (p setting) cell(text string) string {
	bare := p.node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0
	if bare && json.Valid([]byte(text)) && strings.ContainsRune("-0123456789", rune(text[0])) {
		return text
	}
	return string(report.EncodeBound(text))
}

// gives proves that the listener has a column; otherwise it says so at a place.
func (l *draftListener) gives(column string, at setting) bool {
	if !l.known || slices.Contains(l.Columns, column) {
		return l.known
	}
	at.problem(fmt.Sprintf("%s gives no column %s", l.Name, column), didYouMean(column, l.Columns))
	return false
}

// listener finds a listener that has been read.
func (d *draft) listener(name string) *draftListener {
	for _, l := range d.listeners {
		if l.Name == name {
			return l
		}
	}
	return nil
}

// listenerNames returns the names of those that have been read, in their order.
func (d *draft) listenerNames() []string {
	names := make([]string, len(d.listeners))
	for i, l := range d.listeners {
		names[i] = l.Name
	}
	return names
}

// checkFieldNames proves that no two columns share a field in Redis: listener a with
// column b.c, and listener a.b with column c.
func (d *draft) checkFieldNames() {
	owner := map[string]report.Ref{}
	for _, l := range d.listeners {
		if !l.known {
			continue
		}
		for _, column := range l.Columns {
			ref := report.Ref{Listener: l.Name, Column: column}
			other, taken := owner[ref.String()]
			owner[ref.String()] = ref
			if taken {
				l.columns.problem(fmt.Sprintf("%s is column %s of %s and also column %s of %s", ref, ref.Column, ref.Listener, other.Column, other.Listener),
					"Give one of the columns an alias, or one of the listeners another name")
			}
		}
	}
}
