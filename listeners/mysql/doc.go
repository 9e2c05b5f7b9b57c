// Package mysql reads the data of listeners from MySQL and MariaDB.
//
// # One task
//
// A task has a connection of its own and one read-only transaction with a
// consistent snapshot at REPEATABLE READ: all rows are of one moment, and a query
// cannot write. Queries always run as prepared statements, so that parameters never
// become SQL and values come back in one form. Rows are streamed; at most two chunks are in memory, one of which is being
// stored. A source that is read slowly keeps the query open, which counts towards
// its timeout.
//
// # Ends
//
// The server ends a query at the listener's timeout by itself (max_statement_time
// on MariaDB, max_execution_time on MySQL). Where it cannot, or the context ends
// before, the connection is closed, which a server that is busy does not notice,
// and therefore KILL QUERY is sent over another connection. An account may kill
// what is its own, so this needs no grant beyond SELECT.
//
// Connections go back to their pool as they were. One that was killed, or whose
// query used a user variable (@) or a lock function, is closed instead.
//
// # Values of an earlier stage
//
// A query with :listener.column runs once, with all distinct values in its place as
// SQL literals; nulls are left out. So it means what it says, with aggregates, DISTINCT,
// LIMIT and NOT IN too, and the server compares the values by the collation of its own
// column. A literal has the type of the earlier column: binary values are x'…', a FLOAT
// is the double that it equals. The statement may be as long as the server's
// max_allowed_packet (16 MiB on MariaDB, 64 MiB on MySQL unless set), at most 64 MiB:
// about 1.5 million integers for 16 MiB. More values fail the task for good, and the
// error says so. The process needs about six times the statement while it sends it.
// MariaDB turns a long list into a derived table by itself.
//
// Without any value the dataset is empty; its types are learnt by running the
// query with NULL in the list and reading none of its rows.
//
// # Types
//
//	integer types, YEAR, BIT                      integer; its column says what ZEROFILL and YEAR show
//	DECIMAL                                       decimal, as the server writes it
//	FLOAT, DOUBLE                                 float; FLOAT(M,D) with so many decimals
//	DATE; DATETIME, TIMESTAMP; TIME               date; datetime; time, with their digits; zero dates stay.
//	                                              A TIMESTAMP is in UTC, a DATETIME in the zone of its listener
//	JSON                                          json (MariaDB has none of its own: text)
//	BLOB types, BINARY, VARBINARY, GEOMETRY       binary
//	CHAR, VARCHAR, TEXT types, ENUM, SET, others  text
package mysql
