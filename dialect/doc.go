// Package dialect answers one question: how is the SQL of a listener read, and how do values get
// into it?
//
// A Dialect is the SQL of one kind of server: its strings, quoted names, comments and placeholders.
// It reads a query only as far as it must to find the parameters, the columns of the SELECT and
// statements that do not only read. The server parses the rest. The package links no driver, so that
// the configuration can read the queries of every kind.
package dialect
