// Package mysqldb opens connection pools on MySQL and MariaDB, for the record
// store and for listeners, with the settings that both rely on.
package mysqldb
