// Package api answers what a service can do over HTTP: create jobs (create.go), read, cancel and retry them
// and download their files (job.go), follow them as server-sent events (events.go), and list the reports
// (reports.go).
//
// New makes the handler of the paths below /api/v1/. openapi.yaml describes the API and is served as
// openapi.json; a test sends every request in it and checks the answers.
//
// Every error is a problem of RFC 9457 that says what is wrong and what to do (problem.go). A problem
// never contains the name or an error text of a server: these are in the log.
package api
