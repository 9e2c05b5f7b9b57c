// Package web answers one question: what do the dashboard, the waiting pages, the API and the admin address have
// in common?
//
// server.go listens and bounds requests, stream.go sends server-sent events, which stream.js follows in a
// browser, and download.go serves the file of a record.
//
// The package is not in internal, because the download imports the engine's names of files, and nothing in
// internal imports the engine.
package web
