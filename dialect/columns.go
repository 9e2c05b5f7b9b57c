package dialect

import (
	"slices"
	"strings"

	"github.com/fanfold/fanfold/report"
)

// Words that may follow SELECT before its first column.
var selectModifiers = words(`ALL DISTINCT DISTINCTROW HIGH_PRIORITY STRAIGHT_JOIN SQL_SMALL_RESULT SQL_BIG_RESULT
	SQL_BUFFER_RESULT SQL_NO_CACHE SQL_CACHE SQL_CALC_FOUND_ROWS`)

// Words that end a select list.
var selectEnds = words(`FROM WHERE GROUP HAVING ORDER LIMIT UNION EXCEPT INTERSECT INTO FOR LOCK WINDOW PROCEDURE`)

// Words of an expression. None of them is an alias, and the token after one is an
// operand, not an alias, except after expressionEnds.
var expressionWords = words(`AND OR XOR NOT IS LIKE IN BETWEEN REGEXP RLIKE DIV MOD SOUNDS MEMBER OF ESCAPE COLLATE
	BINARY INTERVAL CASE WHEN THEN ELSE EXISTS ANY SOME OVER SELECT AS DISTINCT AT END NULL TRUE FALSE UNKNOWN
	ILIKE SIMILAR TO ISNULL NOTNULL`)

var literals = words(`NULL TRUE FALSE`)

var expressionEnds = words(`END NULL TRUE FALSE UNKNOWN`)

func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// Without returns a query without some of the words that may stand between its first SELECT and the columns.
func (d *Dialect) Without(query string, modifiers ...string) string {
	tokens, wrong := d.tokenize(query)
	if wrong != nil {
		return query
	}
	var out strings.Builder
	before := true // the columns
	selected := false
	for _, t := range tokens {
		modifies := selected && t.in(selectModifiers)
		switch {
		case !before || t.kind == tokenSpace:
		case !selected:
			selected = t.is("SELECT")
			before = selected || t.is("(")
		case modifies && slices.ContainsFunc(modifiers, t.is):
			continue
		default:
			before = modifies
		}
		out.WriteString(t.text)
	}
	return out.String()
}

// column is a column of a SELECT.
type column struct {
	name string
	at   int // offset of its item in the query
}

// selectList returns the columns of the first SELECT. If it cannot know all names, it returns no columns, and the
// offsets of the items that it does not know. Gaps are commas without a column.
func (d *Dialect) selectList(tokens []token) (columns []column, unknown []int, gaps mistakes) {
	var rest []token
	for _, t := range tokens {
		if t.kind != tokenSpace {
			rest = append(rest, t)
		}
	}
	for len(rest) > 0 && rest[0].is("(") {
		rest = rest[1:]
	}
	if len(rest) == 0 || !rest[0].is("SELECT") {
		return nil, []int{0}, nil
	}
	at := rest[0].at
	rest = rest[1:]
	for len(rest) > 0 && rest[0].in(selectModifiers) {
		rest = rest[1:]
	}
	rest = skipDistinctOn(rest)
	items, comma := selectItems(rest), -1 // the index of the comma before an item
	for _, item := range items {
		switch {
		case len(item) > 0:
			at = item[0].at
		case len(items) > 1:
			at = rest[max(comma, 0)].at
			gaps = append(gaps, mistake{report.Mistake{Message: "no column beside this comma",
				Remedy: "Remove the comma, or write a column"}, at})
		}
		comma += len(item) + 1
		name, ok := d.itemName(item)
		if columns = append(columns, column{name, at}); !ok {
			unknown = append(unknown, at)
		}
	}
	if unknown != nil {
		return nil, unknown, gaps
	}
	return columns, nil, gaps
}

// in reports whether the token is one of these words.
func (t token) in(set map[string]bool) bool {
	return t.kind == tokenWord && set[strings.ToUpper(t.text)]
}

// selectItems splits at the commas outside of parentheses.
func selectItems(tokens []token) [][]token {
	var items [][]token
	start, depth := 0, 0
	for i, t := range tokens {
		qualified := i > 0 && tokens[i-1].is(".") // t.order is a column
		switch {
		case t.is("("):
			depth++
		case t.is(")") && depth > 0:
			depth--
		case depth > 0:
		case t.is(","):
			items = append(items, tokens[start:i])
			start = i + 1
		case t.is(")"), t.is(";"), t.in(selectEnds) && !qualified:
			return append(items, tokens[start:i])
		}
	}
	return append(items, tokens[start:])
}

// itemName returns the name that the server gives to an item of a select list.
func (d *Dialect) itemName(item []token) (string, bool) {
	if name, ok := d.columnPath(item); ok {
		return name, true
	}
	if len(item) < 2 {
		return "", false
	}
	last, before := item[len(item)-1], item[len(item)-2]
	switch {
	case before.is("AS") && len(item) > 2:
		if last.kind == tokenString {
			return d.unquote(last.text), true
		}
		return d.name(last)
	case last.in(expressionWords) || last.kind == tokenWord && interval(item):
		return "", false
	case before.is(")"), before.in(expressionEnds), before.kind == tokenNumber, before.kind == tokenName,
		before.kind == tokenString, before.kind == tokenParameter,
		before.kind == tokenWord && !before.in(expressionWords):
		// A string is not a bare alias: DATE '2024-01-01' and _utf8'x' are values.
		return d.name(last)
	}
	return "", false
}

// columnPath returns the last part of a, t.a or s.t.a.
func (d *Dialect) columnPath(item []token) (string, bool) {
	if len(item) == 0 || len(item) == 1 && item[0].in(literals) {
		return "", false
	}
	name, ok := "", len(item)%2 == 1
	for i, t := range item {
		if i%2 == 1 {
			ok = ok && t.is(".")
			continue
		}
		part, isName := d.name(t)
		name, ok = part, ok && isName
	}
	return name, ok
}

// name returns the token as a name, without quotes.
func (d *Dialect) name(t token) (string, bool) {
	switch t.kind {
	case tokenWord:
		if d.LowerNames {
			return strings.ToLower(t.text), true
		}
		return t.text, true
	case tokenName:
		return d.unquote(t.text), true
	}
	return "", false
}

// interval reports whether the last word could be the unit of an INTERVAL.
func interval(item []token) bool {
	return slices.ContainsFunc(item, func(t token) bool { return t.is("INTERVAL") })
}
