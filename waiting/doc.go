// Package waiting answers what a person who waits for a report sees: a page without a login.
//
// The link /r/<token> is the permission. A token contains an id, an expiry and, if the installation
// knows it, the person (token.go). The page says what was ordered (order.go) and shows the state in words
// (words.go), the position in the queue (queue.go), the estimated time left (left.go) and the missing parts,
// then the file and its details (facts.go), or what to change in the request (mistake.go), and the person's
// past exports (exports.go). The person can cancel the report (cancel.go). It works without JavaScript; with
// JavaScript, a stream keeps it up to date (live.go). Package web/link has what other
// pages behind links share with it, and web/languages has all texts.
//
// The person is not an operator: no page contains the text of an error, a query, a host or a key.
package waiting
