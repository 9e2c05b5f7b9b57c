// Package expr answers one question: what is an expression worth in a row?
//
// Compile turns an expression of a fold into an Expr, which computes its value from the cells of a row, and
// CompileAggregate does the same for a sum over rows. Names, functions and types are checked before the first row; a
// mistake is parse.Errors with its place.
//
//	parse.Expr ──Compile, with the columns of the rows──▶ Expr ──Eval(row)──▶ value.Value
//
// The functions are in a table, one entry each (functions.go and the files that it names), as are the aggregates.
package expr
