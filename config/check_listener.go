package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/report"
	"go.yaml.in/yaml/v4"
)

// draftListener is a listener in the making. Its Listener becomes part of the report
// after its names are resolved.
type draftListener struct {
	*kind.Listener
	checker *checker
	f       *listenerFields
	source  bool // another query uses one of its columns
}

// listeners are the listeners of a report that were read so far, in order.
type listeners []*draftListener

func (d *draft) addListener(f *listenerFields) {
	s := d.Of(f)
	base := &kind.Listener{Listener: &f.Listener, Section: s, Reader: d.Reader, ColumnsAt: s.Get("columns")}
	l := &draftListener{Listener: base, checker: d.checker, f: f}
	f.File, f.Line = s.File(), s.Line
	d.guessed = !d.inherit(&l.Retry, d.Retry) || s.Wrong("timeout", "silence", "total_timeout") || d.guessed
	if k, ok := d.kinds.Sources.Of(l.Kind); s.Wrong("kind") {
		l.Unsure = true
	} else if ok {
		k = l.connect(k)
		k.Read(base)
	}
	l.Known = s.Readable() && !l.Unsure && !s.Wrong("columns") && (l.Known || l.ColumnsAt.Given()) && l.checkColumns()
	l.readOptional()
	// Listeners of the same name share a stream in all reports; an external service needs its own.
	if first, ok := d.readers[l.Name]; !ok {
		d.readers[l.Name] = l
	} else if (first.Kind == report.External) != (l.Kind == report.External) {
		s.Problem(fmt.Sprintf("%s is of kind %s here, and of kind %s %s: both would read the same stream",
			l.Name, l.Kind, first.Kind, s.PlaceOf(first.Setting)),
			"Rename one of them")
	}
	d.listeners = append(d.listeners, l)
}

// connect finds the database or API that the listener names, and returns the kind of the listener:
// that of its database, if the file does not name another.
func (l *draftListener) connect(k kind.Source) kind.Source {
	if k.Field == "" {
		return k
	}
	c, at := l.checker.config, l.Get(k.Field)
	names := sortedKeys(c.Databases)
	if k.DSN == nil {
		names = sortedKeys(c.APIs)
	}
	if !at.Given() {
		remedy := "Name one of " + k.Section
		if len(names) > 0 {
			remedy += ": " + report.Listing(names)
		}
		l.Missing(k.Field, remedy)
		return k
	} else if l.Wrong(k.Field) {
		return k
	}
	name, _ := at.Text()
	if !slices.Contains(names, name) {
		if len(c.Databases) > 0 || k.DSN == nil { // without databases, there is a problem for that already
			at.Problem("no such "+k.Noun, report.DidYouMean(name, names))
		}
		return k
	}
	l.Source = name
	if k.DSN == nil {
		l.Connection = c.APIs[name]
		return k
	}
	d := c.Databases[name]
	l.Connection = d
	if d.TimeZone != "UTC" {
		l.Zone = d.TimeZone
	}
	of, ok := l.checker.kinds.Sources.Of(d.Kind)
	switch {
	case !ok || of.Name == k.Name:
	case !l.Get("kind").Given() && reflect.TypeOf(of.Fields()) == reflect.TypeOf(k.Fields()):
		l.Kind = of.Name
		return of
	default:
		l.First("kind", k.Field).Problem(fmt.Sprintf("database %s is of kind %s", name, of.Name),
			"Write kind: "+of.Name+", or name another database")
	}
	return k
}

// checkColumns validates the names of the columns.
func (l *draftListener) checkColumns() bool {
	if len(l.Columns) == 0 {
		l.ColumnsAt.Problem("no columns", "List the columns of the result")
		return false
	}
	sound := true
	for i, name := range l.Columns {
		at := l.ColumnsAt
		if l.ColumnAt != nil {
			at = l.ColumnAt[i]
		}
		switch {
		case name == "" || utf8.RuneCountInString(name) > 64 ||
			strings.ContainsFunc(name, func(c rune) bool { return c == '#' || unicode.IsControl(c) }):
			at.Problem(fmt.Sprintf("not a valid column name: %q", report.Shorten(name)),
				"Give it an alias of 1 to 64 characters, without # and control characters")
			sound = false
		case slices.Contains(l.Columns[:i], name):
			at.Problem(fmt.Sprintf("two columns named %s", name), "Give one of them an alias: AS …")
			sound = false
		}
	}
	return sound
}

// readOptional reads optional. It needs the columns.
func (l *draftListener) readOptional() {
	at := l.f.Optional
	if !l.Get("optional").Given() {
		return
	}
	if at.IsText() {
		text, ok := at.Text()
		l.Optional = text == "true"
		if ok && !l.Optional && text != "false" {
			at.Problem("not true, false or a mapping", "Write true, or values for its columns: {COLUMN: VALUE}")
		}
		return
	}
	values, ok := at.Entries()
	l.Optional, l.Values = true, map[string]string{}
	for _, e := range values {
		if e.Value.IsNull() {
			e.Value.Problem("no value", "Remove the column to leave it empty")
		} else if text, ok := e.Value.Text(); ok && l.gives(e.Name, e.Value, "") {
			l.Values[e.Name] = cell(e.Value, text)
		}
	}
	if ok && len(values) == 0 {
		at.Problem("empty", "Write true, or values for its columns: {COLUMN: VALUE}")
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

// gives reports whether the listener has a column, and notes a problem, with a further remedy, if not.
func (l *draftListener) gives(column string, at decode.Setting, further string) bool {
	if !l.Known || slices.Contains(l.Columns, column) {
		return l.Known
	}
	at.Problem(fmt.Sprintf("%s has no column %s", l.Name, column), report.DidYouMean(column, l.Columns)+further)
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
		if !l.Known {
			continue
		}
		for _, column := range l.Columns {
			ref := report.Ref{Listener: l.Name, Column: column}
			other, taken := owner[ref.String()]
			owner[ref.String()] = ref
			if taken {
				l.ColumnsAt.Problem(fmt.Sprintf("%s is column %s of %s and also column %s of %s", ref, ref.Column,
					ref.Listener, other.Column, other.Listener),
					"Give one of the columns an alias, or one of the listeners another name")
			}
		}
	}
}
