package starter

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/report"
)

// pick is a candidate for the first report, and then its queries.
type pick struct {
	Facts *table       // gives the rows
	Date  *kind.Column // of Facts, compared with the parameter of the report; nil: none
	Other *table       // joined to Facts; nil: none
	Key   *kind.Column // of Facts
	Same  *kind.Column // of Other: the column with the values of Key
	score int

	FactsSQL, OtherSQL string
	From               string // the parameter's default; with a date only
}

// side is a table with a column that it can be joined by.
type side struct {
	*table
	by *kind.Column
}

// maxPerKey bounds the tables that are compared for one column name.
const maxPerKey = 200

// picks returns the candidates, best first: tables of two databases that share a column, then tables
// of one database, then single tables.
func picks(tables []*table) []*pick {
	keys := map[string][]side{}
	var all []*pick
	for _, t := range tables {
		all = append(all, &pick{Facts: t, Date: t.date(), score: t.worth() - 20})
		for name, s := range t.sides() {
			if len(keys[name]) < maxPerKey {
				keys[name] = append(keys[name], s)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		for _, a := range keys[name] {
			for _, b := range keys[name] {
				if a.table != b.table {
					all = append(all, pair(a, b))
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *pick) int { return cmp.Compare(b.score, a.score) })
	return all
}

// when returns points if a condition holds.
func when(holds bool, points int) int {
	if holds {
		return points
	}
	return 0
}

// pair returns the candidate that joins two tables.
func pair(facts, other side) *pick {
	score := facts.worth() +
		when(facts.of != other.of, 5) +
		when(other.by.Unique, 4) + // at most one row for every row of facts
		when(other.by.Indexed, 2) +
		when(len(other.shown(other.by)) == 0, -6) +
		when(facts.by.Unique, -3) // a row of it is looked up by other tables
	return &pick{Facts: facts.table, Date: facts.date(), Other: other.table, Key: facts.by, Same: other.by,
		score: score}
}

// worth rates how well a table is suited to be the facts of a report.
func (t *table) worth() int {
	d := t.date()
	return when(d != nil, 2) + when(d != nil && d.Indexed, 2) + when(len(t.shown(nil)) < 2, -6)
}

var (
	strongKey = regexp.MustCompile(`(id|uuid|guid)$`)
	variable  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// sides returns the columns that a table can be joined by. The keys are names in lower case without
// underscores, after the kind: user_id and userId are the same name. The id of a table users is also
// under userid.
func (t *table) sides() map[string]side {
	found := map[string]side{}
	for _, c := range t.columns {
		name, role := folded(c.Name), "integer "
		switch {
		case !variable.MatchString(c.Name):
			continue
		case c.Role == kind.Text: // only columns of the same role are joined
			role = "text "
		case c.Role != kind.Integer:
			continue
		}
		switch {
		case name == "id" || name == "uuid":
			for _, name := range t.referred(name) {
				if c.Unique {
					found[role+name] = side{t, c}
				}
			}
		case strongKey.MatchString(name):
			found[role+name] = side{t, c}
		}
	}
	return found
}

// referred returns the names that other tables may have for the id of this one: users_id, user_id and
// vs_users_id for the table vs_users.
func (t *table) referred(id string) []string {
	var names []string
	own := t.Name[strings.LastIndexByte(t.Name, '.')+1:] // without a schema
	words := strings.Split(strings.ToLower(own), "_")
	for i := range words {
		name := strings.Join(words[i:], "")
		names = append(names, name+id, strings.TrimSuffix(name, "s")+id)
		if one, ok := strings.CutSuffix(name, "ies"); ok {
			names = append(names, one+"y"+id)
		}
	}
	return names
}

func folded(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

var creation = regexp.MustCompile(`creat|order|paid|^date$|^time$`)

// date returns the column that best tells when a row was created, preferably one with an index. nil:
// none.
func (t *table) date() *kind.Column {
	var best *kind.Column
	most := 0
	for _, c := range t.columns {
		points := 1 + when(c.Indexed, 4) + when(creation.MatchString(folded(c.Name)), 2)
		if points > most && c.Role == kind.Day && variable.MatchString(c.Name) {
			best, most = c, points
		}
	}
	return best
}

// maxShown is how many columns of a table the first report shows.
const maxShown = 6

var secretColumn = regexp.MustCompile(`(?i)pass|pwd|secret|token|salt|hash|cvv|iban|ssn|signature|private`)

// LeftOut lists the columns of a table that the first report does not show, for people; empty: none.
func (t *table) LeftOut(key *kind.Column) string {
	shown := t.shown(key)
	var names []string
	for _, c := range t.columns {
		if c != key && !slices.Contains(shown, c) {
			names = append(names, c.Name)
		}
	}
	return report.Listing(names)
}

// shown returns the columns of a table that the first report shows besides its key. It leaves out long
// types and names that look secret.
func (t *table) shown(key *kind.Column) []*kind.Column {
	var list []*kind.Column
	for _, c := range t.columns {
		if c != key && c.Role != kind.Long && !secretColumn.MatchString(c.Name) && len(list) < maxShown {
			list = append(list, c)
		}
	}
	return list
}
