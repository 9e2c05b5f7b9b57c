// Package inspect answers what an operator wants to know: the state of a job (Job), why it is
// not done (Why), what waits in Redis (lists and figures), and how jobs progress (Watch). The
// package inspect/doctor checks the servers.
//
// An Inspector uses the connections in its Options. It opens none and changes nothing. It
// returns plain structs, which the command line prints and the dashboard shows.
//
// Why works in two steps. First, why_facts.go collects facts from Redis, the records and the
// sources. Then rules turn the facts into a Verdict, without any server: why_job.go and
// why_step.go name the facts of a job and of its steps, and the tables in why_rules_job.go and
// why_rules_step.go give the kind and the words for every combination of facts.
package inspect
