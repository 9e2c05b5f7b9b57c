// Package report answers one question: what is a report?
//
// A report is a definition in the configuration file (package config): stages of
// listeners, a join, and columns of a file. This package holds the definition and the
// vocabulary that all packages share, gives each definition its hash, and binds the
// parameters of a record to it.
//
//	file ──config.Load──▶ Report ──Bind──▶ Parameters
//
// Everything here is a pure function of its arguments: no I/O and no clock. The package
// imports nothing of ours.
package report
