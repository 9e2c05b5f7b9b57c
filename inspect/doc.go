// Package inspect answers what an operator sees: where a job stands (Job), why it is not
// done (Why), what is wrong with the servers (Doctor), what waits where (the lists and the
// figures), and what becomes of jobs while one watches (Watch).
//
// An Inspector is given handles and opens nothing. Its answers are plain structs, which
// the command line prints and a dashboard shows. What is known of the state of a job comes
// through the facts of one file, why_facts.go; the verdicts are made of facts alone and need
// no server: why_job.go judges a job, why_push.go an id that waits for its start, why_step.go
// a listener or fan-in.
package inspect
