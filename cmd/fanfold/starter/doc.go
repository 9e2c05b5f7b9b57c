// Package starter answers one question: which first configuration suits these databases?
//
// New reads what was given, without any I/O. Propose asks each database for its tables,
// columns and indexes (information_schema, in transactions that are read only), finds the
// table of the records, and chooses two tables that have a column in common. The
// configuration that it writes is proved as every other one, and its queries are prepared by
// their databases, so that it works as it is.
//
//	source.go   addresses; passwords are read from the environment and named, never written
//	schema.go   what a database has
//	choose.go   which tables the first report joins
//	draft.go    its queries
//	records.go  which table has the records
//	text.go     the file
//
// No error holds a secret.
package starter
