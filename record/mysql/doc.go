// Package mysql answers one question: how are records kept in MySQL or MariaDB? Its Kind has what package
// record needs: SQL, errors (class.go), what the database says about tables (columns.go), and the tables
// that migrate makes (migrate.go).
package mysql
