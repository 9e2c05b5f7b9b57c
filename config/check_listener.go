package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
	"go.yaml.in/yaml/v4"
)

// draftListener is a listener in the making. Its Listener becomes part of the report
// after its names are resolved.
type draftListener struct {
	*report.Listener
	decode.Section
	checker *checker
	f       *listenerFields
	columns decode.Setting // the place of problems with columns
	stage   int            // from 0
	unsure  bool           // Columns may be wrong
	known   bool           // Columns are known
	source  bool           // a later query uses one of its columns
	whole   bool           // its query or requests could be read
	uses    []use          // names in its query or requests
}

// listeners are the listeners of a report that were read so far, in order.
type listeners []*draftListener

// use is a name in a query or request: a parameter, or <listener>.<column>.
type use struct {
	name   string
	list   bool   // a list may stand here
	needed bool   // null may not stand here
	remedy string // if the value may not stand here
	at     decode.Setting
}

func (d *draft) addListener(stage int, f *listenerFields) {
	s := d.Of(f)
	l := &draftListener{Listener: &f.Listener, Section: s, checker: d.checker, f: f, stage: stage, columns: s.Get("columns")}
	l.Listener.Line = s.Line
	d.guessed = !d.inherit(&l.Retry, d.Retry) || s.Wrong("timeout", "silence", "total") || d.guessed
	switch f.Kind {
	case report.FromMySQL:
		l.readQuery()
	case report.FromHTTP:
		l.readHTTP()
	case report.External:
		l.Silence = f.Silent
		for _, c := range f.Typed {
			l.Columns, l.Types = append(l.Columns, c.Name), append(l.Types, c.Type)
		}
	}
	l.known = s.Readable() && !l.unsure && !s.Wrong("columns") && (l.known || l.columns.Given()) && l.checkColumns()
	if !s.Has("name") {
		d.nameless = true
		return
	}
	if other := d.listeners.find(l.Name); other != nil {
		s.Get("name").Problem(fmt.Sprintf("duplicate listener name, first used in line %d", other.Listener.Line), "Give every listener of a report a unique name")
		d.nameless = true
		return
	}
	l.readFailure()
	// Listeners of the same name share a stream in all reports; an external service needs its own.
	if first, ok := d.readers[l.Name]; !ok {
		d.readers[l.Name] = l
	} else if (first.Kind == report.External) != (l.Kind == report.External) {
		s.Problem(fmt.Sprintf("%s is of kind %s here, and of kind %s in line %d: both would read the same stream", l.Name, l.Kind, first.Kind, first.Listener.Line),
			"Rename one of them")
	}
	d.listeners = append(d.listeners, l)
}

// readQuery reads the query of a database, and the columns that the listener lists or
// the SELECT names.
func (l *draftListener) readQuery() {
	c := l.checker.config
	if refer(l.Section, "database", l.f.Database, "databases", sortedKeys(c.Databases)) {
		l.Source = l.f.Database
		if zone := c.Databases[l.Source].TimeZone; zone != "UTC" {
			l.Zone = zone
		}
	}
	at := l.Get("query")
	if !l.Has("query") {
		return
	}
	query, err := report.ParseQuery(l.f.SQL)
	if err != nil {
		at.Problem(strings.TrimPrefix(err.Error(), "report: "), "")
		return
	}
	l.Query, l.whole = query, true
	for _, name := range query.Names() {
		l.uses = append(l.uses, use{name, query.Listed(name), false, fmt.Sprintf("Write IN (:%s)", name), at})
	}
	selected, known := query.SelectList()
	l.Columns = l.f.Named
	switch {
	case l.columns.Given() && known && !l.Wrong("columns") && len(l.Columns) != len(selected):
		l.columns.Problem(fmt.Sprintf("%d listed, but the query returns %d", len(l.Columns), len(selected)), "The query returns "+report.Listing(selected))
		l.unsure = true
	case l.columns.Given():
	case known:
		l.columns, l.Columns, l.known = at, selected, true
	default:
		at.Problem("the column names cannot be derived from the query",
			"Replace * by the names of the columns and give every expression an alias, or add columns: [...] with the names in order")
	}
}

// checkColumns validates the names of the columns.
func (l *draftListener) checkColumns() bool {
	if len(l.Columns) == 0 {
		l.columns.Problem("no columns", "List the columns of the result")
		return false
	}
	sound := true
	for i, name := range l.Columns {
		switch {
		case name == "" || utf8.RuneCountInString(name) > 64 || strings.ContainsFunc(name, func(c rune) bool { return c == '#' || unicode.IsControl(c) }):
			l.columns.Problem(fmt.Sprintf("not a valid column name: %q", report.Shorten(name)), "Give it an alias of 1 to 64 characters, without # and control characters")
			sound = false
		case slices.Contains(l.Columns[:i], name):
			l.columns.Problem(fmt.Sprintf("two columns named %s", name), "Give one of them an alias: AS …")
			sound = false
		}
	}
	return sound
}

// readFailure reads on_failure. It needs the columns.
func (l *draftListener) readFailure() {
	f := l.f.OnFailure
	l.OnFailure = f.Policy
	if at := l.Get("on_failure"); !at.Given() || at.IsText() {
		return
	}
	l.OnFailure, l.Defaults = report.Default, map[string]string{}
	for name, v := range f.Default {
		if v.IsNull() {
			v.Problem("no value", "Remove the column to leave it empty")
		} else if text, ok := v.Text(); ok && l.gives(name, v) {
			l.Defaults[name] = cell(v, text)
		}
	}
}

// cell returns the JSON of a value: a number if the value is one without quotes.
func cell(p decode.Setting, text string) string {
	bare := p.Node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0
	if bare && json.Valid([]byte(text)) && strings.ContainsRune("-0123456789", rune(text[0])) {
		return text
	}
	return string(report.EncodeBound(text))
}

// gives reports whether the listener has a column, and notes a problem if not.
func (l *draftListener) gives(column string, at decode.Setting) bool {
	if !l.known || slices.Contains(l.Columns, column) {
		return l.known
	}
	at.Problem(fmt.Sprintf("%s has no column %s", l.Name, column), report.DidYouMean(column, l.Columns))
	return false
}

// givesKey is gives for a key column of the join.
func (l *draftListener) givesKey(column string, at decode.Setting) bool {
	if !l.known || slices.Contains(l.Columns, column) {
		return l.known
	}
	remedy := report.DidYouMean(column, l.Columns) + ". If a column with the same values has another name, name it in key, or rename it in the query with AS"
	at.Problem(fmt.Sprintf("%s has no column %s", l.Name, column), remedy)
	return false
}

// find returns the listener of a name, or nil.
func (ls listeners) find(name string) *draftListener {
	for _, l := range ls {
		if l.Name == name {
			return l
		}
	}
	return nil
}

// names returns the names of the listeners, in order.
func (ls listeners) names() []string {
	names := make([]string, len(ls))
	for i, l := range ls {
		names[i] = l.Name
	}
	return names
}

// checkFieldNames proves that no two columns share a field in Redis, as column b.c of
// listener a and column c of listener a.b would.
func (ls listeners) checkFieldNames() {
	owner := map[string]report.Ref{}
	for _, l := range ls {
		if !l.known {
			continue
		}
		for _, column := range l.Columns {
			ref := report.Ref{Listener: l.Name, Column: column}
			other, taken := owner[ref.String()]
			owner[ref.String()] = ref
			if taken {
				l.columns.Problem(fmt.Sprintf("%s is column %s of %s and also column %s of %s", ref, ref.Column, ref.Listener, other.Column, other.Listener),
					"Give one of the columns an alias, or one of the listeners another name")
			}
		}
	}
}
