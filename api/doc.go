// Package api answers one question: what can a service ask over HTTP?
//
// New makes a handler of everything below /api/v1/: create a job (create.go), read, cancel and
// retry one, and get its file (job.go), follow one as server-sent events (events.go), and list
// the reports (reports.go). openapi.yaml describes all of it for people and programs, and is served as
// openapi.json; a test sends every request that it describes and checks the answers by it.
//
// Every error is a problem of RFC 9457 that says what is wrong and what to do (problem.go).
// Problems of servers name no server, and quote nothing that one has said: the log does.
package api
