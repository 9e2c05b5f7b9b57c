// Package web answers one question: what do the dashboard, the waiting pages and the API have in common?
//
// download.go serves the file of a record. It needs the engine's names of files and the sinks: the package is
// not in internal, because nothing there imports the engine.
package web
