// Package inspect answers what an operator sees: where a job stands (Job), why it is not
// done (Why), what waits where (the lists and the figures), and what becomes of jobs while
// one watches (Watch). What is wrong with the servers is answered in inspect/doctor.
//
// An Inspector is given handles, opens nothing and changes nothing. Its answers are plain
// structs, which the command line prints and a dashboard shows. What is known of the state of
// a job comes through the facts of one file, why_facts.go. Verdicts are made of facts alone and
// need no server: why_job.go and why_step.go name the facts of a job and of its steps, and the
// tables why_rules_job.go and why_rules_step.go say which of them mean what, in which words.
package inspect
