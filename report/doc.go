// Package report answers one question: what is a report?
//
// A report is a definition in the configuration file (package config): stages of
// listeners, a join, and columns of a file (report.go, listener.go, join.go, csv.go). This
// package holds the definition, gives each one its hash, and binds the parameters of a record
// to it. It also holds the vocabulary that all packages share: statuses and names, timers, and
// what an installation sets once for all reports (limits.go, records.go, source.go, sink.go).
//
//	file ──config.Load──▶ Report ──Bind──▶ Parameters
//
// Everything here is a pure function of its arguments: no I/O and no clock. The package
// imports nothing of ours.
package report
