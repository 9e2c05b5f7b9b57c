// Package testmain is for test packages that need servers: it shares one
// redis-server and one mariadbd among the tests of a package, and Main, which
// is TestMain, stops them and looks for leaked goroutines.
//
// Tests of a package keep apart by names: a schema of their own from Schema, and
// a name for key prefixes and ids from Name.
//
// It is apart from testenv, which the demo uses, so that the command links
// neither the package testing nor what only tests need.
package testmain
