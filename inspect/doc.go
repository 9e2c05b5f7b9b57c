// Package inspect answers what an operator sees: where a job stands (Job), why it is not
// done (Why), what waits where (the lists and the figures), and what becomes of jobs while
// one watches (Watch). What is wrong with the servers is answered in inspect/doctor.
//
// An Inspector is given handles, opens nothing and changes nothing. Its answers are plain
// structs, which the command line prints and a dashboard shows. What is known of the state of
// a job comes through the facts of one file, why_facts.go; the verdicts are made of facts alone
// and need no server: why_job.go judges a job, why_push.go an id that waits for its start,
// why_step.go a listener or fan-in.
package inspect
