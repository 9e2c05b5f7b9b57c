// Package testmain answers one question: how do the tests of a package share servers? They share
// one redis-server, one mariadbd and one postgres; Main, which is TestMain, stops them and looks for
// leaked goroutines.
//
// Tests are isolated by names: Schema and PostgresDatabase create a schema or database of their own, and
// Name returns a unique name for key prefixes and ids.
//
// The data folder of MariaDB is a copy of a template, which the first test on a machine creates in
// fanfold/servers of the user's cache directory. Delete it there to have it created again.
//
// It is separate from testenv, which the demo uses, so that the command links neither the package
// testing nor dependencies that only tests need.
//
// Proxies that break connections and storage services run in a process: its program,
// internal/testenv/faults, is a separate module with heavy dependencies. It is started with go run
// on first use.
package testmain
