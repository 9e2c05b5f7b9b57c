// Package config answers one question: which field of the configuration file sets it?
//
// Load reads the file, proves it, and gives a Config: connections, limits, and the
// definitions of reports and timers, which are types of package report. Every problem
// of the file is found at once, each with its line, the value and the remedy.
//
// What has to be read from outside (environment variables, secret files) is given as a
// function.
package config
