// Package waiting answers one question: what does the person see who waits for a report?
//
// A link /r/<token> is the permission: token.go seals an id, an end and, where the installation
// knows it, the person. Page serves what stands behind it, without a login: the state in words
// (words.go), the place in the queue (queue.go), the time that is probably left (left.go) and the
// parts that are missing; then the file, with what is known of it (look.go), and the
// person's past exports (past.go). It works without
// JavaScript; with it a stream keeps the page up to date (live.go).
//
// The person is no operator: the text of an error, a query, a host or a key is on no page.
package waiting
