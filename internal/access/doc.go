// Package access answers: who may do what over HTTP?
//
// A Site wraps the handlers of one server. Guard (guard.go) refuses what no page or service of ours
// sends: names of other hosts, requests of other sites, and bodies that are too long; it tells browsers what pages may
// do. Login (login.go) finds out who asks, by a password (users.go) or the header of a proxy, and lets
// viewers read and operators make changes; every change is a line in the log (audit.go).
package access
