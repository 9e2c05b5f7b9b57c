package config

import (
	"fmt"
	"slices"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// checkJoin takes the join, or makes the one of a single listener. False if the file's
// columns cannot be checked against it.
func (d *draft) checkJoin() bool {
	f := d.f.Join
	several := len(d.listeners) > 1
	switch {
	case f.Given() && !f.Readable():
		return false
	case !f.Given() && several:
		f.Problem("missing", fmt.Sprintf("A report with %d listeners needs join: {key: COLUMN}", len(d.listeners)))
		return false
	}
	list := f.Get("listeners")
	if list.Given() {
		several = len(f.Listeners) > 1 || f.Wrong("listeners") && len(f.Listeners) == 0
	}
	d.Join.FoldCase, d.Join.Keys = f.FoldCase, f.Key
	keys, keysKnown := f.Get("key"), checkKeys(f.Section, f.Key, several)
	sound := !d.nameless && len(d.listeners) > 0 && keysKnown && !f.Wrong("listeners")
	if !list.Given() {
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
func checkKeys(s decode.Section, keys []string, needed bool) bool {
	at := s.Get("key")
	if !at.Given() {
		if needed {
			at.Problem("missing", "Name the column, or the columns, by which the listeners are joined")
		}
		return !needed
	}
	sound := !s.Wrong("key")
	for i, key := range keys {
		if slices.Contains(keys[:i], key) {
			at.Item(i).Problem("given twice", "Remove one of them")
			sound = false
		}
	}
	return sound
}

// addJoined takes one of join.listeners.
func (d *draft) addJoined(f *joinedFields, first, keysKnown bool) bool {
	j := report.Joined{Listener: f.Name, Type: f.Type, Keys: d.Join.Keys}
	name, own := f.Get("name"), f.Get("name")
	l, sound := d.listeners.find(f.Name), f.Has("name")
	switch {
	case !sound:
	case l == nil && !d.nameless:
		name.Problem("a listener that the report does not have", decode.DidYouMean(f.Name, d.listeners.names()))
	case l != nil && d.Join.Joins(f.Name):
		name.Problem("joined twice", "Remove one of them, or define a second listener with another name")
		sound = false
	}
	if f.Has("type") && first && f.Type != report.Inner {
		f.Get("type").Problem("a type for the first listener, which drives the join", "Give the type to the listeners after it")
		sound = false
	}
	if f.Get("key").Given() {
		j.Keys, own = f.Key, f.Get("key")
		sound = checkKeys(f.Section, f.Key, false) && sound
		if !f.Wrong("key") && keysKnown && len(j.Keys) != len(d.Join.Keys) {
			own.Problem(fmt.Sprintf("%d columns for a join by %d", len(j.Keys), len(d.Join.Keys)), "Name as many as in join.key: "+report.Listing(d.Join.Keys))
			sound = false
		}
	}
	d.Join.Listeners = append(d.Join.Listeners, j)
	sound = sound && l != nil && !f.Wrong("type")
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
		if !d.Join.Joins(l.Name) && !l.source && !d.nameless && d.listeners.whole() {
			l.f.Problem(fmt.Sprintf("nothing uses %s: it is not joined, and no query has one of its columns", l.Name),
				"Add it to join.listeners, or remove it")
		}
	}
}

// checkFirst proves that no job goes on without the listener that gives the rows.
func (d *draft) checkFirst() {
	if len(d.Join.Listeners) == 0 {
		return
	}
	l := d.listeners.find(d.Join.Listeners[0].Listener)
	if l == nil || !l.CanOmit() {
		return
	}
	remedy := "Leave on_failure out"
	if len(d.Join.Listeners) > 1 {
		remedy += ", or put a listener first in join.listeners that is required"
	}
	l.f.Get("on_failure").Problem(fmt.Sprintf("%s gives the rows of the file: without it there are none", l.Name), remedy)
}
