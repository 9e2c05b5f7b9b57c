// Package e2e answers one question: how does a test run jobs from end to end? New makes a Stack: a Redis,
// a schema, a folder for files and a configuration. Serve runs all roles in the process of the test.
//
// A test of a room that needs running jobs, and no separate process, stands in that room and uses a
// Stack. The tests of cmd/fanfold/command add the command line and processes of its own to one.
package e2e
