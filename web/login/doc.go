// Package login answers one question: how does a person log in and out without the dialog of the browser?
//
// Pages (pages.go) has the form, which works without JavaScript. Package access checks passwords and keeps sessions.
package login
