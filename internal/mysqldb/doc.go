// Package mysqldb answers one question: how does a process connect to MySQL or MariaDB? It opens
// connection pools for the record store and for listeners, with the settings that both rely on, and
// classifies errors of servers (away.go).
package mysqldb
