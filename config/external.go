package config

import (
	"fmt"
	"slices"
	"time"

	"github.com/fanfold/fanfold/report"
)

// silence is the default of an external listener's silence.
const silence = 30 * time.Second

// kinds are the types that a column can have.
var kinds = []string{
	string(report.KindInteger), string(report.KindDecimal), string(report.KindFloat), string(report.KindText), string(report.KindDate),
	string(report.KindDatetime), string(report.KindTime), string(report.KindJSON), string(report.KindBinary),
}

// readTypedColumns takes the columns of a listener that has no query: names, or
// {name, type}.
func (l *draftListener) readTypedColumns(f fields) {
	at, ok := f.need("columns", "Name what the service gives: columns: [user_id, {name: score, type: decimal}]")
	l.columns = at
	if !ok {
		return
	}
	items, ok := at.list()
	if !ok {
		return
	}
	for _, item := range items {
		name, kind, ok := item.typedColumn()
		if !ok {
			return
		}
		l.Columns, l.Types = append(l.Columns, name), append(l.Types, kind)
	}
	l.known = l.checkColumns()
}

// typedColumn decodes one of them.
func (p setting) typedColumn() (name string, kind report.Kind, ok bool) {
	if p.isText() {
		name, ok = p.text()
		return name, report.KindText, ok
	}
	f := p.fields("name", "type")
	at, ok := f.need("name", "Name the column")
	if !ok {
		return "", "", false
	}
	if name, ok = at.text(); !ok {
		return "", "", false
	}
	at = f.get("type")
	if !at.given() {
		return name, report.KindText, true
	}
	text, ok := at.text()
	if ok && !slices.Contains(kinds, text) {
		at.problem("no such type", didYouMean(text, kinds))
		ok = false
	}
	return name, report.Kind(text), ok
}

// checkReader proves that a service has the stream of its listener for itself: the
// listeners of one name share it, in all reports.
func (d *draft) checkReader(l *draftListener) {
	first, ok := d.readers[l.Name]
	if !ok {
		if d.readers == nil {
			d.readers = map[string]*draftListener{}
		}
		d.readers[l.Name] = l
		return
	}
	if (first.Kind == report.External) != (l.Kind == report.External) {
		l.problem(fmt.Sprintf("%s is of kind %s here, and of kind %s in line %d: both would read one stream", l.Name, l.Kind, first.Kind, first.line),
			"Give one of them another name")
	}
}
