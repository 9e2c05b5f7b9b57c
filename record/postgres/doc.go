// Package postgres answers one question: how are records kept in PostgreSQL? Its Kind has what package record
// needs: connections (connect.go), SQL, errors (class.go), what the catalog says about tables (columns.go), and
// the tables that migrate makes (migrate.go).
//
// An error ends a transaction of PostgreSQL: package record executes nothing after one but ROLLBACK. A timestamp
// without time zone is in the zone of the session, like a DATETIME of MySQL.
package postgres
