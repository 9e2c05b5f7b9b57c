// Package worker answers what the worker of an external listener can do over HTTP, without Redis: claim a task,
// read values of earlier stages, send pages of rows, and end the task (tasks.go). A token of the listener is the
// permission (token.go). listeners.Desk does the work.
//
// New makes the handler of the paths below /tasks/ of the API. api/openapi.yaml describes them.
package worker
