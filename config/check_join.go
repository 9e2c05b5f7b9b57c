package config

import (
	"fmt"
	"slices"

	"github.com/fanfold/fanfold/report"
)

// checkJoin takes the join, or makes the one of a single listener. False if the file's
// columns cannot be checked against it.
func (d *draft) checkJoin() bool {
	f := d.f.Join
	several := len(d.listeners) > 1
	switch {
	case f.given() && f.fields == nil:
		return false
	case !f.given() && several:
		f.problem("missing", fmt.Sprintf("A report with %d listeners needs join: {key: COLUMN}", len(d.listeners)))
		return false
	}
	list := f.get("listeners")
	if list.given() {
		several = len(f.Listeners) > 1 || f.wrong["listeners"] && len(f.Listeners) == 0
	}
	d.Join.FoldCase, d.Join.Keys = f.FoldCase, f.Key
	keys, keysKnown := f.get("key"), d.checkKeys(f.section, f.Key, several)
	sound := !d.nameless && len(d.listeners) > 0 && keysKnown && !f.wrong["listeners"]
	if !list.given() {
		for _, l := range d.listeners {
			d.Join.Listeners = append(d.Join.Listeners, report.Joined{Listener: l.Name, Type: report.Inner, Keys: f.Key})
			for _, key := range f.Key {
				sound = l.gives(key, keys) && sound
			}
		}
		return sound
	}
	for i := range f.Listeners {
		sound = d.addJoined(&f.Listeners[i], i == 0, keysKnown) && sound
	}
	if len(f.Listeners) > 0 {
		d.checkSources()
	}
	return sound
}

// checkKeys proves a list of key columns.
func (d *draft) checkKeys(s section, keys []string, needed bool) bool {
	at := s.get("key")
	if !at.given() {
		if needed {
			at.problem("missing", "Name the column, or the columns, by which the listeners are joined")
		}
		return !needed
	}
	sound := !s.wrong["key"]
	for i, key := range keys {
		if slices.Contains(keys[:i], key) {
			at.item(i).problem("given twice", "Remove one of them")
			sound = false
		}
	}
	return sound
}

// item returns an element of a list, or the value itself if it is written without one.
func (p setting) item(i int) setting {
	if items := p.node.Content; i < len(items) {
		return p.reading.at(items[i], fmt.Sprintf("%s[%d]", p.path, i))
	}
	return p
}

// addJoined takes one of join.listeners.
func (d *draft) addJoined(f *joinedFields, first, keysKnown bool) bool {
	j := report.Joined{Listener: f.Name, Type: f.Type, Keys: d.Join.Keys}
	name, own := f.get("name"), f.get("name")
	l, sound := d.listener(f.Name), f.has("name")
	switch {
	case !sound:
	case l == nil && !d.nameless:
		name.problem("a listener that the report does not have", didYouMean(f.Name, d.listenerNames()))
	case l != nil && d.Join.Joins(f.Name):
		name.problem("joined twice", "Remove one of them, or define a second listener with another name")
		sound = false
	}
	if f.has("type") && first && f.Type != report.Inner {
		f.get("type").problem("a type for the first listener, which drives the join", "Give the type to the listeners after it")
		sound = false
	}
	if f.get("key").given() {
		j.Keys, own = f.Key, f.get("key")
		sound = d.checkKeys(f.section, f.Key, false) && sound
		if !f.wrong["key"] && keysKnown && len(j.Keys) != len(d.Join.Keys) {
			own.problem(fmt.Sprintf("%d columns for a join by %d", len(j.Keys), len(d.Join.Keys)), "Name as many as in join.key: "+report.Listing(d.Join.Keys))
			sound = false
		}
	}
	d.Join.Listeners = append(d.Join.Listeners, j)
	sound = sound && l != nil && !f.wrong["type"]
	if sound && keysKnown {
		for _, key := range j.Keys {
			sound = l.gives(key, own) && sound
		}
	}
	return sound
}

// checkSources finds listeners whose values go nowhere.
func (d *draft) checkSources() {
	for _, l := range d.listeners {
		if !d.Join.Joins(l.Name) && !l.source && !d.nameless && d.queriesKnown() {
			l.f.problem(fmt.Sprintf("nothing uses %s: it is not joined, and no query has one of its columns", l.Name),
				"Add it to join.listeners, or remove it")
		}
	}
}

// checkFirst proves that no job goes on without the listener that gives the rows.
func (d *draft) checkFirst() {
	if len(d.Join.Listeners) == 0 {
		return
	}
	l := d.listener(d.Join.Listeners[0].Listener)
	if l == nil || !l.CanOmit() {
		return
	}
	remedy := "Leave on_failure out"
	if len(d.Join.Listeners) > 1 {
		remedy += ", or put a listener first in join.listeners that is required"
	}
	l.f.get("on_failure").problem(fmt.Sprintf("%s gives the rows of the file: without it there are none", l.Name), remedy)
}
