package query

import (
	"slices"

	"github.com/fanfold/fanfold/fold/expr"
	"github.com/fanfold/fanfold/fold/parse"
)

// Required returns where a query reads listeners whose rows decide which rows it has: those that are not the right
// side of a LEFT JOIN, the left side of a RIGHT JOIN that comes first, or a side of a FULL JOIN. A query on such a side
// is as its listener if it has no rows without it.
func Required(q *parse.Query, found map[string]parse.Position) {
	table := func(t parse.Table, outer bool) {
		switch {
		case t.Sub == nil && !outer:
			found[t.Name] = t.Position
		case t.Sub != nil:
			inside := map[string]parse.Position{}
			Required(t.Sub, inside)
			for name, place := range inside {
				if !outer || !vanishes(t, name) {
					found[name] = place
				}
			}
		}
	}
	for _, s := range q.Selects {
		if s.Sub != nil {
			Required(s.Sub, found)
			continue
		}
		table(s.From, isOuter(&s, -1))
		for i, j := range s.Joins {
			table(j.Table, isOuter(&s, i))
		}
	}
}

// isOuter tells whether a row without one of a table stays: of a join, or with -1 of FROM.
func isOuter(s *parse.Select, join int) bool {
	if join < 0 {
		return len(s.Joins) > 0 && s.Joins[0].Kind == parse.Right
	}
	return s.Joins[join].Kind == parse.Left || s.Joins[join].Kind == parse.Full
}

// vanishes tells whether a table certainly has no rows without a listener.
func vanishes(t parse.Table, listener string) bool {
	if t.Sub == nil {
		return t.Name == listener
	}
	return !slices.ContainsFunc(t.Sub.Selects, func(s parse.Select) bool { return !selectsNone(&s, listener) })
}

// selectsNone is vanishes for a SELECT. One that is too complex is not certain.
func selectsNone(s *parse.Select, listener string) bool {
	if s.Sub != nil {
		return false
	}
	aggregates := map[string]*parse.Call{}
	for _, item := range s.Items {
		switch {
		case !item.Star:
			expr.Aggregates(item.X, aggregates)
		case s.From.Sub != nil || s.Joins != nil:
			return false
		}
	}
	if s.Having != nil {
		expr.Aggregates(s.Having, aggregates)
	}
	none := vanishes(s.From, listener)
	for _, j := range s.Joins {
		switch right := vanishes(j.Table, listener); j.Kind {
		case parse.Inner:
			none = none || right
		case parse.Right:
			none = right
		case parse.Full:
			none = none && right
		}
	}
	return none && (s.GroupBy != nil || len(aggregates) == 0)
}
