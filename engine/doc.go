// Package engine answers one question: who moves a job forward?
//
// It is what three packages share: Engine has their clients, options, log and counters, and Record,
// Run and Records say what they need to know of the record table (package record implements it for
// MySQL). Any number of processes may run all of them:
//
//   - trigger reads the ids that services push (fanfold:jobs), reads their records, makes them
//     PROCESSING with the next attempt, and starts the jobs.
//   - fanin reads jobs whose barrier was reached or that must end (fanfold:fanin). It sends them to
//     their next stage, or makes the file and gives the record its final status.
//   - files names, creates and removes the files of jobs.
//
// recovery restores what Redis has lost; it must run beside them.
//
// # Order
//
// An entry is acknowledged last, after its effect. So after a crash the entry is still pending,
// another process takes it over, and the attempt and fence in the state tell it what is left:
//
//	trigger  record PROCESSING, attempt+1 → start → acknowledge
//	fan-in   claim → fold → PUBLISHING → object → manifest → record SUCCESS or PARTIAL → settle → acknowledge
//	         (a small job is folded first; claim and PUBLISHING are one script)
//	         claim → record FAILED or CANCELLED → remove the file → settle → acknowledge
package engine
