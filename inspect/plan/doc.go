// Package plan answers one question: how does a report run, and how many rows did one of its jobs find?
//
// The command line prints a Plan, and the dashboard draws it. Its rows are those of the manifest of a file, or, while
// the job runs, those that Redis knows.
package plan
