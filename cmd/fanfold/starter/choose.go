package starter

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// pick is a candidate for the first report.
type pick struct {
	facts *table  // gives the rows
	date  *column // of facts, compared with the parameter of the report; nil: none
	other *table  // joined to facts; nil: none
	key   *column // of facts
	same  *column // of other: the column with the values of key
	score int
}

// side is a table with a column that it can be joined by.
type side struct {
	*table
	by       *column
	strength int
}

// maxPerKey bounds the tables that are compared for one column name.
const maxPerKey = 200

// picks returns the candidates, best first: tables of two databases that share a column, then tables
// of one database, then single tables.
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

// pair returns the candidate that joins two tables.
func pair(facts, other side) pick {
	p := pick{facts: facts.table, date: facts.date(), other: other.table, key: facts.by, same: other.by}
	p.score = facts.worth() + min(facts.strength, other.strength)
	add := func(points int, when bool) {
		if when {
			p.score += points
		}
	}
	add(5, facts.of != other.of)
	add(4, other.by.unique) // at most one row for every row of facts
	add(2, other.by.indexed)
	add(1, other.rows)
	add(-6, len(other.shown(other.by)) == 0)
	add(-5, spare.MatchString(other.name))
	add(-3, facts.by.unique) // a row of it is looked up by other tables
	return p
}

var spare = regexp.MustCompile(`(?i)(^|_)(bak|backup|tmp|temp|old|copy|test)(_|$|\d)`)

// worth rates how well a table is suited to be the facts of a report.
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

// sides returns the columns that a table can be joined by. The keys are names in lower case without
// underscores: user_id and userId are the same name. The id of a table users is also under userid.
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

// referred returns the names that other tables may have for the id of this one: users_id, user_id and
// vs_users_id for the table vs_users.
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

// class returns the kind of a column's values: only columns of the same class are joined. Empty: none.
func class(c *column) string {
	switch {
	case strings.HasSuffix(c.kind, "int"):
		return "integer"
	case c.kind == "char" || c.kind == "varchar":
		return "text"
	}
	return ""
}

// date returns the column that best says when a row was created: preferably one with an index, and
// one that does not change later. nil: none.
func (t *table) date() *column {
	var best *column
	bestPoints := 0
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
		if points > bestPoints {
			best, bestPoints = c, points
		}
	}
	return best
}

// maxShown is how many columns of a table the first report shows.
const maxShown = 6

var (
	secretColumn = regexp.MustCompile(`(?i)pass|pwd|secret|token|salt|hash|cvv|iban|ssn|signature|private`)
	longKinds    = []string{"blob", "binary", "text", "json", "geometry", "point", "polygon", "linestring", "collection", "bit", "vector", "inet"}
)

// shown returns the columns of a table that the first report shows besides its key. It leaves out long
// types and names that look secret.
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
