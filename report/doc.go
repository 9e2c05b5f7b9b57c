// Package report answers one question: what is a report?
//
// A report is a definition in the configuration file (package config): stages of listeners,
// a join, and the columns of a file (report.go, listener.go, join.go, file.go). This package
// contains the definition, computes its hash and binds the parameters of a record to it. It
// also contains the vocabulary that all packages share: statuses, names, timers, and the
// settings of an installation (limits.go, records.go, source.go, sink.go).
//
//	file ──config.Load──▶ Report ──Bind──▶ Parameters
//
// Everything here is a pure function of its arguments: no I/O and no clock. The package
// imports no other package of Fanfold.
package report
