package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fanfold/fanfold/report"
	"go.yaml.in/yaml/v4"
)

// draftListener is a listener that is being read. Its Listener becomes part of
// the report when its query is resolved.
type draftListener struct {
	report.Listener
	setting
	query   setting
	columns setting // what to point at when a column is wrong
	stage   int     // from 0
	known   bool    // whether Columns are known
	source  bool    // a later query uses a column of it
	failure setting // on_failure
	whole   bool    // what it asks for could be read
	uses    []use   // names in what it asks for
}

// use is a name in what a listener asks for: a parameter, or <listener>.<column>.
type use struct {
	name   string
	list   bool   // any number of values may stand there
	remedy string // where a list stands and may not
	at     setting
}

func (d *draft) readStages(f fields) {
	at, ok := f.need("stages", "Add stages: [{listeners: [...]}]")
	if !ok {
		return
	}
	stages, ok := at.list()
	if ok && len(stages) == 0 {
		at.problem("no stage", "Add at least one: [{listeners: [...]}]")
	}
	for s, stage := range stages {
		in := stage.fields("listeners")
		at, ok := in.need("listeners", "Add listeners: [{name: …, database: …, query: …}]")
		if !ok {
			d.nameless = true
			continue
		}
		listeners, ok := at.list()
		if ok && len(listeners) == 0 {
			at.problem("a stage without listener", "Add one, or remove the stage")
		}
		d.nameless = d.nameless || len(listeners) == 0
		for _, l := range listeners {
			d.readListener(s, l)
		}
	}
	d.Stages = make([]report.Stage, len(stages))
}

func (d *draft) readListener(stage int, at setting) {
	kind := at.kind()
	f := at.fields(slices.Concat(listenerFields, kindFields[kind])...)
	l := &draftListener{setting: at, stage: stage}
	l.Line, l.Kind, l.query = at.line, kind, at
	l.Timeout = d.timeout(f.get("timeout"))
	l.Retry = d.retry(f.get("retry"), d.Retry)
	switch kind {
	case report.FromMySQL:
		if !f.broken {
			l.Source = f.databaseName(d.sources.databases)
		}
		l.readQuery(f)
		l.readColumns(f.get("columns"))
	case report.FromHTTP:
		l.readHTTP(f, d.sources.apis)
	case report.External:
		l.Silence = f.get("silence").atLeast(time.Second, silence, "A worker says something every third of it, and its silence is noticed within a second")
		l.readTypedColumns(f)
	}
	if !d.readListenerName(l, f) {
		d.nameless = true
		return
	}
	l.readOnFailure(f.get("on_failure"))
	d.checkReader(l)
	d.listeners = append(d.listeners, l)
}

// listenerFields are those of every listener, kindFields those of its kind.
var (
	listenerFields = []string{"name", "kind", "columns", "timeout", "retry", "on_failure"}
	kindFields     = map[report.ListenerKind][]string{
		report.FromMySQL: {"database", "query"},
		report.FromHTTP:  {"api", "submit", "poll", "cancel", "result", "total", "batch"},
		report.External:  {"silence"},
	}
)

// kind reads the kind of a listener before its other fields: which they are depends on it.
func (p setting) kind() report.ListenerKind {
	if !p.is(yaml.MappingNode) {
		return report.FromMySQL // what it is instead is said by whoever reads its fields
	}
	for i := 0; i+1 < len(p.node.Content); i += 2 {
		if p.node.Content[i].Value != "kind" {
			continue
		}
		at := p.reading.at(p.node.Content[i+1], child(p.path, "kind"))
		text, ok := at.text()
		if ok && slices.Contains(report.ListenerKinds, text) {
			return report.ListenerKind(text)
		}
		if ok {
			at.problem("no such kind of listener", didYouMean(text, report.ListenerKinds))
		}
	}
	return report.FromMySQL
}

func (d *draft) readListenerName(l *draftListener, f fields) bool {
	at, ok := f.need("name", "Name it after what it reads, such as schema.table")
	if !ok {
		return false
	}
	l.Name, ok = at.text()
	switch {
	case !ok:
		return false
	case len(l.Name) > report.MaxListener:
		at.problem(fmt.Sprintf("a name of more than %d characters", report.MaxListener), "Shorten it")
		return false
	case !report.ValidListener(l.Name):
		at.problem("not a listener's name", "Use letters, digits and _, in parts with dots between them; no part begins with a digit")
		return false
	}
	if other := d.listener(l.Name); other != nil {
		at.problem(fmt.Sprintf("a second listener of this name, first in line %d", other.line), "Give each listener of a report a name of its own")
		return false
	}
	return true
}

func (l *draftListener) readQuery(f fields) {
	at, ok := f.need("query", "Add the SELECT that this listener runs")
	l.query = at
	if !ok {
		return
	}
	text, ok := at.text()
	if !ok {
		return
	}
	query, err := report.ParseQuery(text)
	if err != nil {
		at.problem(strings.TrimPrefix(err.Error(), "report: "), "")
		return
	}
	l.Query, l.whole = query, true
	for _, name := range query.Names() {
		l.uses = append(l.uses, use{name, query.Listed(name), fmt.Sprintf("Write IN (:%s)", name), at})
	}
}

// readColumns takes the columns that the listener lists, or those that its
// SELECT does.
func (l *draftListener) readColumns(at setting) {
	l.columns = at
	selected, known := l.Query.SelectList()
	items, ok := at.list()
	switch {
	case !ok:
		return
	case !at.given() && known:
		l.columns = l.query
		l.Columns = selected
	case !at.given():
		if l.Query.Text != "" {
			l.query.problem("a query whose columns cannot be read from it",
				"Name each column or give it an alias in place of * and bare expressions, or add columns: [...] with the names in order")
		}
		return
	default:
		for _, item := range items {
			name, ok := item.text()
			if !ok {
				return
			}
			l.Columns = append(l.Columns, name)
		}
		if known && len(l.Columns) != len(selected) {
			at.problem(fmt.Sprintf("%d listed where the query gives %d", len(l.Columns), len(selected)), "The query gives "+report.Listing(selected))
			return
		}
	}
	l.known = l.checkColumns()
}

func (l *draftListener) checkColumns() bool {
	if len(l.Columns) == 0 {
		l.columns.problem("no columns", "Name what the query gives")
		return false
	}
	sound := true
	for i, name := range l.Columns {
		switch {
		case name == "" || utf8.RuneCountInString(name) > 64 || strings.ContainsFunc(name, func(c rune) bool { return c == '#' || unicode.IsControl(c) }):
			l.columns.problem(fmt.Sprintf("a column name that is not allowed: %q", report.Shorten(name)), "Give it an alias of 1 to 64 characters, without # and control characters")
			sound = false
		case slices.Contains(l.Columns[:i], name):
			l.columns.problem(fmt.Sprintf("two columns named %s", name), "Give one of them an alias: AS …")
			sound = false
		}
	}
	return sound
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

// checkFieldNames proves that no two columns share a field in Redis: listener a
// with column b.c, and listener a.b with column c.
func (d *draft) checkFieldNames() {
	owner := map[string]report.Ref{}
	for _, l := range d.listeners {
		if !l.known {
			continue
		}
		for _, column := range l.Columns {
			ref := report.Ref{Listener: l.Name, Column: column}
			if other, taken := owner[ref.String()]; taken {
				l.columns.problem(fmt.Sprintf("%s is column %s of %s and also column %s of %s", ref, ref.Column, ref.Listener, other.Column, other.Listener),
					"Give one of the columns an alias, or one of the listeners another name")
			}
			owner[ref.String()] = ref
		}
	}
}
