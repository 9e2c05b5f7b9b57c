package starter

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// pick is what a first report could be made of.
type pick struct {
	facts *table  // gives the rows
	date  *column // of facts, which the report's parameter is compared with; nil: it has none
	other *table  // is looked up for what facts has; nil: no table goes with it
	key   *column // of facts
	same  *column // of other: the column with the values of key
	score int
}

// side is a table with a column by which it can be joined.
type side struct {
	*table
	by       *column
	strength int
}

// maxPerKey bounds the tables that are compared for one name of a column.
const maxPerKey = 200

// picks lists what a first report could be made of, the best one first. Tables of two
// databases that share a column go before those of one, and these before single tables.
func picks(tables []*table) []pick {
	keys, names := map[string][]side{}, []string{}
	var all []pick
	for _, t := range tables {
		all = append(all, pick{facts: t, date: t.date(), score: t.worth() - 20})
		for name, s := range t.sides() {
			if _, ok := keys[name]; !ok {
				names = append(names, name)
			}
			if len(keys[name]) < maxPerKey {
				keys[name] = append(keys[name], s)
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		for _, a := range keys[name] {
			for _, b := range keys[name] {
				if a.table != b.table && class(a.by) == class(b.by) {
					all = append(all, pair(a, b))
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b pick) int { return cmp.Compare(b.score, a.score) })
	return all
}

// pair is a report of two tables.
func pair(facts, other side) pick {
	p := pick{facts: facts.table, date: facts.date(), other: other.table, key: facts.by, same: other.by}
	p.score = facts.worth() + min(facts.strength, other.strength)
	add := func(points int, when bool) {
		if when {
			p.score += points
		}
	}
	add(5, facts.of != other.of)
	add(4, other.by.unique) // a row for each one of facts
	add(2, other.by.indexed)
	add(1, other.rows)
	add(-6, len(other.shown(other.by)) == 0)
	add(-5, spare.MatchString(other.name))
	add(-3, facts.by.unique) // it is what others are looked up in
	return p
}

var spare = regexp.MustCompile(`(?i)(^|_)(bak|backup|tmp|temp|old|copy|test)(_|$|\d)`)

// worth says how well a table gives the rows of a report.
func (t *table) worth() int {
	n := 0
	if d := t.date(); d != nil && d.indexed {
		n += 4
	} else if d != nil {
		n += 2
	}
	if t.rows {
		n += 2
	}
	if slices.ContainsFunc(t.columns, func(c *column) bool { return c.kind == "decimal" || c.kind == "double" || c.kind == "float" }) {
		n++
	}
	if len(t.shown(nil)) < 2 {
		n -= 6
	}
	if spare.MatchString(t.name) {
		n -= 5
	}
	return n
}

var (
	strongKey = regexp.MustCompile(`(id|uuid|guid)$`)
	usualKey  = regexp.MustCompile(`(email|code|number|no|sku|account|username|login)$`)
	variable  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// sides are the columns by which a table can be joined, by their names without case and
// underscores: user_id and userId are one name. The id of a table users goes by userid, too.
func (t *table) sides() map[string]side {
	found := map[string]side{}
	for _, c := range t.columns {
		name := folded(c.name)
		strength := 0
		switch {
		case class(c) == "" || !variable.MatchString(c.name):
		case name == "id" || name == "uuid":
			if c.unique {
				for _, name := range t.referred(name) {
					found[name] = side{t, c, 4}
				}
			}
		case strongKey.MatchString(name):
			strength = 4
		case usualKey.MatchString(name):
			strength = 2
		case c.unique:
			strength = 1
		}
		if strength > 0 {
			found[name] = side{t, c, strength}
		}
	}
	return found
}

// referred are the names that other tables have for the id of this one: the table vs_users
// is referred to by users_id, user_id and vs_users_id.
func (t *table) referred(id string) []string {
	var names []string
	words := strings.Split(strings.ToLower(t.name), "_")
	for i := range words {
		name := strings.Join(words[i:], "")
		if name == "" {
			continue
		}
		names = append(names, name+id)
		if one, ok := strings.CutSuffix(name, "ies"); ok {
			names = append(names, one+"y"+id)
		} else if one, ok := strings.CutSuffix(name, "s"); ok {
			names = append(names, one+id)
		}
	}
	return names
}

func folded(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// class tells which columns have values of one kind, by which rows can meet.
func class(c *column) string {
	switch {
	case strings.HasSuffix(c.kind, "int"):
		return "integer"
	case c.kind == "char" || c.kind == "varchar":
		return "text"
	}
	return ""
}

// date is the column of a table that says when a row came about: one with an index if there
// is one, and one that is not changed later.
func (t *table) date() *column {
	var best *column
	most := 0
	for _, c := range t.columns {
		if c.kind != "date" && c.kind != "datetime" && c.kind != "timestamp" || !variable.MatchString(c.name) {
			continue
		}
		points := 1
		if c.indexed {
			points += 4
		}
		if name := folded(c.name); strings.Contains(name, "creat") || strings.Contains(name, "order") || strings.Contains(name, "paid") || name == "date" || name == "time" {
			points += 2
		} else if strings.Contains(name, "updat") || strings.Contains(name, "modif") || strings.Contains(name, "delet") || strings.Contains(name, "birth") {
			points--
		}
		if points > most {
			best, most = c, points
		}
	}
	return best
}

// maxShown is how many columns of a table a first report shows.
const maxShown = 6

var (
	secretColumn = regexp.MustCompile(`(?i)pass|pwd|secret|token|salt|hash|cvv|iban|ssn|signature|private`)
	longKinds    = []string{"blob", "binary", "text", "json", "geometry", "point", "polygon", "linestring", "collection", "bit", "vector", "inet"}
)

// shown are the columns of a table that a first report shows beside its key: nothing long,
// nothing that looks secret.
func (t *table) shown(key *column) []*column {
	var list []*column
	for _, c := range t.columns {
		long := slices.ContainsFunc(longKinds, func(kind string) bool { return strings.Contains(c.kind, kind) })
		if c != key && !long && !secretColumn.MatchString(c.name) && len(list) < maxShown {
			list = append(list, c)
		}
	}
	if d := t.date(); d != nil && d != key && !slices.Contains(list, d) {
		list = append(list, d)
	}
	return list
}
