package config

import (
	"fmt"
	"slices"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// otherName is the further remedy for a key that is not a column.
const otherName = ". If a column with the same values has another name, name it in key, or rename it in the query with AS"

// checkJoin validates the join, or makes the join of a single listener. It returns false if
// the columns of the file cannot be checked against it.
func (d *draft) checkJoin() bool {
	s := d.Of(&d.Join)
	several := len(d.listeners) > 1
	switch {
	case s.Given() && !s.Readable():
		return false
	case !s.Given() && several:
		s.Problem("missing", fmt.Sprintf("A report with %d listeners needs join: {key: COLUMN}", len(d.listeners)))
		return false
	}
	list := s.Get("listeners")
	if list.Given() {
		several = len(d.Join.Listeners) > 1 || s.Wrong("listeners") && len(d.Join.Listeners) == 0
	}
	keys, keysKnown := s.Get("key"), checkKeys(s, d.Join.Keys, several)
	sound := !d.nameless && len(d.listeners) > 0 && keysKnown && !s.Wrong("listeners")
	if !list.Given() {
		for _, l := range d.listeners {
			d.Join.Listeners = append(d.Join.Listeners,
				report.Joined{Listener: l.Name, Type: l.joinType(), Keys: d.Join.Keys})
			for _, key := range d.Join.Keys {
				sound = l.gives(key, keys, otherName) && sound
			}
		}
		return sound
	}
	for i := range d.Join.Listeners {
		sound = d.checkJoined(i, keysKnown) && sound
	}
	if len(d.Join.Listeners) > 0 {
		d.checkSources()
	}
	return sound
}

// checkKeys validates a list of key columns.
func checkKeys(s decode.Section, keys []string, needed bool) bool {
	at := s.Get("key")
	if !at.Given() {
		if needed {
			at.Problem("missing", "Name the key column or columns of the join")
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

// checkJoined validates an item of join.listeners; those before it are done.
func (d *draft) checkJoined(i int, keysKnown bool) bool {
	j := &d.Join.Listeners[i]
	s := d.Of(j)
	name, own := s.Get("name"), s.Get("name")
	l, sound := d.listeners.find(j.Listener), s.Has("name")
	before := report.Join{Listeners: d.Join.Listeners[:i]}
	switch {
	case !sound:
	case l == nil && !d.nameless:
		name.Problem("the report has no such listener", report.DidYouMean(j.Listener, d.listeners.names()))
	case l != nil && before.Joins(j.Listener):
		name.Problem("joined twice", "Remove one of them, or define a second listener with another name")
		sound = false
	}
	switch {
	case !s.Get("type").Given() && l != nil && i > 0:
		j.Type = l.joinType()
	case !s.Get("type").Given():
		j.Type = report.Inner
	case s.Has("type") && i == 0 && j.Type != report.Inner:
		s.Get("type").Problem("the first listener of a join has no type", "Set the type of the listeners after it")
		sound = false
	}
	if at := s.Get("key"); at.Given() {
		own = at
		sound = checkKeys(s, j.Keys, false) && sound
		if !s.Wrong("key") && keysKnown && len(j.Keys) != len(d.Join.Keys) {
			own.Problem(fmt.Sprintf("%d columns, but join.key has %d", len(j.Keys), len(d.Join.Keys)),
				"Name as many columns as join.key: "+report.Listing(d.Join.Keys))
			sound = false
		}
	} else {
		j.Keys = d.Join.Keys
	}
	sound = sound && l != nil && !s.Wrong("type")
	if sound && keysKnown {
		for _, key := range j.Keys {
			sound = l.gives(key, own, otherName) && sound
		}
	}
	return sound
}

// checkSources finds listeners whose values nothing uses.
func (d *draft) checkSources() {
	for _, l := range d.listeners {
		if !d.Join.Joins(l.Name) && !l.source && !d.nameless && d.listeners.whole() {
			l.Problem(fmt.Sprintf("nothing uses %s: it is not joined, and no query uses its columns", l.Name),
				"Add it to join.listeners, or remove it")
		}
	}
}

// checkFirst proves that no job continues without the listener that provides the rows.
func (d *draft) checkFirst() {
	if len(d.Join.Listeners) == 0 {
		return
	}
	l := d.listeners.find(d.Join.Listeners[0].Listener)
	if l == nil || !l.Optional {
		return
	}
	remedy := "Remove optional"
	if len(d.Join.Listeners) > 1 {
		remedy += ", or put a required listener first in join.listeners"
	}
	l.Get("optional").Problem(fmt.Sprintf("%s provides the rows of the file, so a job cannot continue without it",
		l.Name), remedy)
}

// joinType returns how a listener is joined if the file does not say it: the rows must not depend on whether an
// optional one is there.
func (l *draftListener) joinType() report.JoinType {
	if l.Optional {
		return report.Left
	}
	return report.Inner
}

// checkFilters proves that no listener that filters rows can be left out: the file would include those that
// it filters.
func (d *draft) checkFilters() {
	for i, joined := range d.Join.Listeners {
		l := d.listeners.find(joined.Listener)
		if i == 0 || l == nil || !l.Optional || joined.Type != report.Inner ||
			d.Of(&d.Join.Listeners[i]).Wrong("type") {
			continue
		}
		d.Of(&d.Join.Listeners[i]).Get("type").Problem(
			l.Name+" is optional: without it, the file would also have the rows that it filters", "Write type: left, or remove optional")
	}
}
