// Package testmain is for test packages that need servers: it shares one
// redis-server and one mariadbd among the tests of a package, and Main, which
// is TestMain, stops them and looks for leaked goroutines.
//
// Tests of a package keep apart by names: a schema of their own from Schema, and
// a name for key prefixes and ids from Name.
//
// It is apart from testenv, which the demo uses, so that the command links
// neither the package testing nor what only tests need.
//
// Proxies that break connections, and storage services, come from a process: its program,
// internal/testenv/faults, is a module of its own, so that what it is made of is in nobody
// else's import graph. A package that asks for one starts it with go run.
package testmain
