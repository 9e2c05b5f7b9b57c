// Package config answers one question: which field of the configuration file sets it?
//
// The structs of file.go, and those of package report that they contain, are the only list
// of the fields: each has its name, its default and its bounds as tags, and its meaning as
// a comment, from which the tables in docs/ and the JSON schema are made. Package decode
// reads a file into them; the check functions prove what the fields mean together and make
// the Config of load.go. Only the command imports this package: all others get what they
// need of the Config as types of package report.
//
//	file ──decode──▶ fields ──check──▶ Config
//
// Every problem of a file is found at once, each with its place, the value and the
// remedy; no message shows a secret. What has to be read from outside (environment
// variables, secret files) is given as a function.
package config
