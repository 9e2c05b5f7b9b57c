package record

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/engine"
)

// argument returns the value that finds the row of an id, bound as the column's type: a string
// against an integer column would find 12 for "12x". It returns false if no row can have the id.
func (l *layout) argument(id string) (any, bool) {
	switch l.id.Of {
	case UUID:
		lower := strings.ToLower(id)
		return lower, uuid.MatchString(lower)
	case Text:
		return id, true
	}
	if n, err := strconv.ParseInt(id, 10, l.id.Bits); err == nil {
		return n, true
	}
	if n, err := strconv.ParseUint(id, 10, 64); err == nil && l.id.Unsigned {
		return n, true
	}
	return nil, false
}

var uuid = regexp.MustCompile("^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")

// exact is argument for an id that must be spelled as in the row.
func (l *layout) exact(id string) (any, bool) {
	arg, ok := l.argument(id)
	return arg, ok && canonical(arg) == id
}

// canonical returns how a row spells the id that is bound as arg.
func canonical(arg any) string {
	switch v := arg.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case uint64:
		return strconv.FormatUint(v, 10)
	default:
		return arg.(string)
	}
}

// assign gives every row to the ids that found it. It returns the ids for which only the database
// knows the row: ids without a row of their own, while there are rows that a collation may have
// found for them.
func assign(found map[string]engine.Record, ids []string, rows []engine.Record, l *layout) (unsure []string) {
	own := make(map[string]engine.Record, len(rows))
	near := map[string]bool{} // ids of rows, as most collations compare them
	for _, r := range rows {
		own[r.ID] = r
		near[strings.ToLower(r.ID)] = true
	}
	claimed := map[string]bool{}
	for _, id := range ids {
		name := id
		if l.id.Of != Text {
			if arg, ok := l.argument(id); ok {
				name = canonical(arg)
			}
		}
		if r, ok := own[name]; ok {
			found[id] = r
			claimed[name] = true
		} else if l.id.Of == Text {
			unsure = append(unsure, id)
		}
	}
	if len(claimed) < len(own) {
		return unsure
	}
	// Every row belongs to an id, but may also have been found for a similar one.
	return slices.DeleteFunc(unsure, func(id string) bool { return !near[strings.ToLower(id)] })
}
