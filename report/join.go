package report

import "slices"

// Join is the short form of a SELECT: fold.Select has the long one.
type Join struct {
	// Key column, or list of key columns
	Keys []string `yaml:"key" open:"" one:"" min:"1" why:"Name at least one column"`
	// Listeners in the order of the join: names, or these fields. A listener that is not in the list only provides
	// values for `:listener.column`
	Listeners []Joined `yaml:"listeners" min:"1" unset:"all; optional ones as left, the others as inner"` // the first one drives the join
}

// Joined is one dataset in a join.
type Joined struct {
	// Name of a listener
	Listener string `yaml:"name" short:"" need:"Name one of the report's listeners"`
	// Which rows the result has. The first listener has no type
	Type JoinType `yaml:"type" unset:"inner, or left for an optional listener"`
	// Names of its key columns, if they differ from those of the join. They must contain the same values: a
	// listener cannot join by another key
	Keys []string `yaml:"key" open:"" one:"" min:"1" why:"Name at least one column" unset:"the join's"`
}

// Joins reports whether a listener is part of the join.
func (j Join) Joins(listener string) bool {
	return slices.ContainsFunc(j.Listeners, func(l Joined) bool { return l.Listener == listener })
}

// JoinType defines which rows the result has.
type JoinType string

// The types of a join, as in SQL.
const (
	Inner JoinType = "inner"
	Left  JoinType = "left"
	Full  JoinType = "full"
)

// JoinTypes are all of them.
var JoinTypes = []JoinType{Inner, Left, Full}
