// Package starter answers one question: which first configuration suits these databases?
//
// Propose reads the tables, columns and indexes of every database, as its kind reads them, finds the table
// of the records, and chooses two tables that have a column in common. It validates the configuration that
// it writes, and the databases prepare the queries, so the configuration works unchanged.
//
//	address.go  addresses; the file has the names of variables with passwords, never passwords
//	schema.go   the tables of a database, and the interface by which a kind of database gives them
//	choose.go   which tables the first report joins
//	query.go    its queries
//	records.go  which table has the records
//	page.go     the file
//
// No error contains a secret.
package starter
