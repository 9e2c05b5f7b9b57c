// Package parse answers one question: how is the SELECT of a fold read?
//
// Parse turns the text into a tree, in which every node has its place. The language is a part of
// MariaDB's: what it leaves out is an Error, with its place and what to write instead.
//
//	text ──lexer──▶ tokens ──Parse──▶ Query
//
// The lexer is in lexer.go, the nodes are in tree.go, statement.go reads all of a query but its
// expressions, which expression.go reads. The package does not know which tables, columns and functions exist.
package parse
