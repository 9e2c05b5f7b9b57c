// Package query answers one question: how does the SELECT of a fold run?
//
// New turns the tree of a query and the columns of its listeners into a Plan: names are found, expressions are
// compiled, and every clause becomes an operator. Joins run in the order written, each with the rows of all before it.
// Conditions of WHERE that need one table alone are checked before the joins, and columns that nothing uses are not
// read. There is no other optimiser.
//
//	parse.Query ──New──▶ Plan ──Run──▶ operators ──▶ rows of cells
//
// select.go has one SELECT, naming.go what its names mean, join.go its joins and key.go their keys, group.go its
// aggregates, union.go what combines several. optional.go finds joins, and
// filter.go conditions, that need rows of an optional listener.
package query
