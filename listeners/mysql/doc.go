// Package mysql reads the data of listeners from MySQL and MariaDB: it is their listeners.Source.
//
// # One task
//
// Every task has its own connection and one read-only transaction with a consistent snapshot at
// REPEATABLE READ: all rows are from the same moment, and a query cannot write. Queries run as
// prepared statements, so that parameters never become SQL. Rows are streamed; at most two chunks are
// in memory, one of which is being stored. Slow storing keeps the query open, which counts towards
// its timeout.
//
// # Ends
//
// The server ends a query at the listener's timeout (max_statement_time on MariaDB,
// max_execution_time on MySQL). MySQL ends SLEEP and the like without an error, with values that are
// wrong: a query that took its whole timeout there has failed. If the server cannot end a query, or
// the context ends earlier, the connection is closed.
// A busy server does not notice that, so KILL QUERY is sent over another connection. An account may
// kill its own queries: this needs no grant beyond SELECT.
//
// A connection is reset and returned to its pool. If it was killed, or its query used a user variable
// (@) or a lock function, it is closed instead.
//
// # Values of an earlier stage
//
// A query with :listener.column runs once. All distinct values except nulls replace the name, as SQL literals.
// Aggregates, DISTINCT, LIMIT and NOT IN therefore work as written, and the server compares the values by the
// collation of its own column. A literal has the type of the earlier column: binary values are x'…', a FLOAT is
// the double that it equals. The statement may be as long as the server's max_allowed_packet (16 MiB on MariaDB,
// 64 MiB on MySQL unless set), at most 64 MiB: about 1.5 million integers for 16 MiB. More values are a permanent
// error. The process needs about six times the statement while it sends it. MariaDB turns a long list into a
// derived table by itself.
//
// Without any value the dataset is empty. To learn its types, the query runs with NULL in the list,
// and no row is read.
//
// # Types
//
//	integer types, YEAR, BIT                      integer; its column says what ZEROFILL and YEAR show
//	DECIMAL                                       decimal, as the server writes it
//	FLOAT, DOUBLE                                 float; FLOAT(M,D) with so many decimals
//	DATE; DATETIME, TIMESTAMP; TIME               date; datetime; time, with their digits; zero dates stay.
//	                                              A TIMESTAMP is in UTC, a DATETIME in the zone of its listener
//	JSON                                          json on MySQL, in its own form; text on MariaDB
//	BLOB types, BINARY, VARBINARY, GEOMETRY       binary; so is a VECTOR
//	CHAR, VARCHAR, TEXT types, ENUM, SET, others  text
package mysql
