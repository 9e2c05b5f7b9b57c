// Package link answers one question: what do the pages behind links, which need no login, have in common?
//
// A link ends with a token, which is the permission (package seal). page.go has the
// head of the pages, their style, and their language, and live.go keeps them up to date.
package link
