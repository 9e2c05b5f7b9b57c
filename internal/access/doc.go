// Package access answers one question: who may do what over HTTP?
//
// A Site wraps the handlers of one server. Guard (guard.go) refuses requests for other host names, requests from
// other sites, and bodies that are too long, and sets the security headers of pages. Login (login.go) identifies
// the user by a password (users.go), a session (session.go) or the header of a proxy. Services have tokens
// (tokens.go). Groups give rights (rights.go), and the log has a line for every change (audit.go).
package access
