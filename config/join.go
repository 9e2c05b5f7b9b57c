package config

import (
	"fmt"
	"slices"

	"github.com/fanfold/fanfold/report"
)

// readJoin decodes the join, or makes the one of a single listener. False where
// the CSV's columns cannot be checked against it.
func (d *draft) readJoin(at setting) bool {
	sound := !d.nameless && len(d.listeners) > 0
	f := at.fields("key", "fold_case", "listeners")
	if f.broken {
		return false
	}
	d.Join.FoldCase = f.get("fold_case").caseFolding()
	if list := f.get("listeners"); list.given() {
		items, ok := list.list()
		if ok && len(items) == 0 {
			list.problem("a join of no listener", "Name the listeners, or leave it out for all of them")
		}
		sound = sound && ok && len(items) > 0
		keys, ok := d.readKeys(f.get("key"), len(items) > 1 || !ok)
		for i, item := range items {
			sound = d.readJoined(item, i == 0, keys, ok) && sound
		}
		if len(items) > 0 {
			d.checkSources()
		}
		return sound && ok
	}
	if !at.given() && len(d.listeners) > 1 {
		at.problem("missing", fmt.Sprintf("A report with %d listeners needs join: {key: COLUMN}", len(d.listeners)))
		return false
	}
	keys, ok := d.readKeys(f.get("key"), len(d.listeners) > 1)
	for _, l := range d.listeners {
		d.Join.Listeners = append(d.Join.Listeners, report.Joined{Listener: l.Name, Type: report.Inner, Keys: keys})
		for _, key := range keys {
			sound = l.gives(key, f.get("key")) && sound
		}
	}
	return sound && ok
}

// caseFolding decodes fold_case.
func (p setting) caseFolding() report.CaseFolding {
	switch p.oneOf("none of false, true and full", "false", "false", "true", "full") {
	case "true":
		return report.FoldSimple
	case "full":
		return report.FoldFull
	}
	return report.FoldNone
}

// readKeys decodes join.key.
func (d *draft) readKeys(at setting, needed bool) ([]string, bool) {
	if !at.given() {
		if needed {
			at.problem("missing", "Name the column, or the columns, by which the listeners are joined")
		}
		return nil, !needed
	}
	keys, ok := at.names()
	d.Join.Keys = keys
	return keys, ok
}

// names decodes one or more names, each once.
func (p setting) names() ([]string, bool) {
	items, ok := p.oneOrMore()
	if !ok {
		return nil, false
	}
	if len(items) == 0 {
		p.problem("an empty list", "Name at least one column")
		return nil, false
	}
	var names []string
	for _, item := range items {
		name, itemOK := item.text()
		switch {
		case !itemOK:
			ok = false
		case slices.Contains(names, name):
			item.problem("given twice", "Remove one of them")
			ok = false
		}
		names = append(names, name)
	}
	return names, ok
}

// readJoined decodes one of join.listeners.
func (d *draft) readJoined(at setting, first bool, keys []string, keysKnown bool) bool {
	name, kind, own := at, setting{}, setting{}
	if !at.isText() {
		f := at.fields("name", "type", "key")
		if f.broken {
			return false
		}
		var ok bool
		if name, ok = f.need("name", "Name one of the report's listeners"); !ok {
			return false
		}
		kind, own = f.get("type"), f.get("key")
	}
	joined := report.Joined{Type: report.Inner, Keys: keys}
	l, ok := d.joinedListener(name, &joined)
	ok = d.readJoinType(kind, first, &joined) && ok
	if own.given() {
		var namesOK bool
		joined.Keys, namesOK = own.names()
		if namesOK && keysKnown && len(joined.Keys) != len(keys) {
			own.problem(fmt.Sprintf("%d columns for a join by %d", len(joined.Keys), len(keys)), "Name as many as in join.key: "+report.Listing(keys))
			namesOK = false
		}
		ok = ok && namesOK
	} else {
		own = name
	}
	d.Join.Listeners = append(d.Join.Listeners, joined)
	if ok && l != nil && keysKnown {
		for _, key := range joined.Keys {
			ok = l.gives(key, own) && ok
		}
	}
	return ok
}

// joinedListener finds the listener that is joined.
func (d *draft) joinedListener(at setting, joined *report.Joined) (*draftListener, bool) {
	name, ok := at.text()
	if !ok {
		return nil, false
	}
	joined.Listener = name
	l := d.listener(name)
	if l == nil {
		if !d.nameless {
			at.problem("a listener that the report has not", didYouMean(name, d.listenerNames()))
		}
		return nil, false
	}
	if d.Join.Joins(name) {
		at.problem("joined twice", "Remove one of them, or define a second listener with another name")
		return nil, false
	}
	return l, true
}

func (d *draft) readJoinType(at setting, first bool, joined *report.Joined) bool {
	if !at.given() {
		return true
	}
	text, ok := at.text()
	if !ok {
		return false
	}
	types := []string{string(report.Inner), string(report.Left), string(report.Full)}
	switch {
	case !slices.Contains(types, text):
		at.problem("no such type of join", didYouMean(text, types))
		return false
	case first && text != string(report.Inner):
		at.problem("a type for the first listener, which drives the join", "Give the type to the listeners after it")
		return false
	}
	joined.Type = report.JoinType(text)
	return true
}

// checkSources finds listeners whose values go nowhere.
func (d *draft) checkSources() {
	for _, l := range d.listeners {
		if !d.Join.Joins(l.Name) && !l.source && !d.nameless && d.allQueriesKnown() {
			l.problem(fmt.Sprintf("nothing uses %s: it is not joined, and no query has one of its columns", l.Name),
				"Add it to join.listeners, or remove it")
		}
	}
}

// gives proves that the listener has a column; otherwise it says so at a place.
func (l *draftListener) gives(column string, at setting) bool {
	if !l.known || slices.Contains(l.Columns, column) {
		return l.known
	}
	at.problem(fmt.Sprintf("%s gives no column %s", l.Name, column), didYouMean(column, l.Columns))
	return false
}
