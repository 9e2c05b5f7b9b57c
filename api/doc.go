// Package api answers what a service can do over HTTP: it is the API below /api/v1/.
//
// New makes the handler. It creates jobs (create.go), reads, cancels and retries them and sends
// their files (job.go), follows them as server-sent events (events.go), and lists the reports
// (reports.go). openapi.yaml describes the API and is served as openapi.json; a test sends every
// request in it and checks the answers.
//
// Every error is a problem of RFC 9457 that says what is wrong and what to do (problem.go). A
// problem never contains the name or the text of a server: these are in the log.
package api
