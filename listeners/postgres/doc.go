// Package postgres reads the data of listeners from PostgreSQL: it is their listeners.Source.
//
// # One task
//
// Every task has its own connection and one read-only transaction at REPEATABLE READ: all rows are from
// the same moment, and a query cannot write. A query runs as the unnamed prepared statement, and all
// settings end with the transaction, so that a pooler such as PgBouncer may share connections between
// transactions. Rows are streamed as the driver receives them; at most two chunks are in memory, one of
// which is being stored. Slow storing keeps the query open, which counts towards its timeout.
//
// # Ends
//
// The server ends a query at the listener's timeout (statement_timeout). If the server does not, or the
// context ends earlier, or the rows cannot be stored, the query is cancelled on the server over another
// connection and its own is closed: the remaining rows are not read. This needs no grant.
//
// A connection is reused for five minutes. If its query used an advisory lock or dblink, it is closed
// instead.
//
// # Values
//
// A parameter is an argument whose type the server infers from the query. A list is one array argument:
// IN (:list) becomes = ANY ($1), and NOT IN (:list) becomes <> ALL ($1). So a query with
// :listener.column runs once, with all distinct values except nulls, at most 64 MiB. Aggregates, DISTINCT,
// LIMIT and NOT IN work as written, and the server compares the values by the type of its own column.
// A value that this type does not have equals nothing and is left out, such as 1.5 for integers. A list
// without values has a NULL, as IN (NULL). Without any value of an earlier stage the dataset is empty,
// and the query does not run.
//
// # Texts
//
// The equality of PostgreSQL's texts is that of their bytes, whatever the collation. Their columns have a
// collation that compares bytes. Where it meets another one in a fold, it decides, as a binary collation
// does in MariaDB: the fold finds what the database itself finds. Texts of citext or of a
// nondeterministic collation can be equal with other bytes. They have the name of that as their
// collation, which a fold refuses to compare without COLLATE.
//
// docs/reference/keys.md has the table of types.
package postgres
