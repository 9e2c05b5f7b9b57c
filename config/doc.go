// Package config answers one question: which field of the configuration file sets it?
//
// The structs of file.go, and those of package report that they contain, are the only list
// of the fields. Tags define the name, default and bounds of a field, and its comment the
// meaning; the tables in docs/ and the JSON schema are generated from both. Package decode
// reads a file into the structs. The check functions validate fields that depend on one
// another and build the Config of load.go. Only the command imports this package: all others
// receive parts of the Config as types of package report.
//
//	file ──decode──▶ fields ──check──▶ Config
//
// Load reports all problems of a file at once, with place, value and remedy. No message
// shows a secret. The caller passes functions that read environment variables and secret
// files.
package config
