// Package engine answers one question: who moves a job forward?
//
// It has three readers. Any number of them may run in any number of processes:
//
//   - The trigger reads the ids that services push (fanfold:jobs), reads their records, makes
//     them PROCESSING with the next attempt, and starts the jobs: trigger.go, start.go, and
//     decide.go for what a push means. limit.go keeps the ids of a report with enough running jobs,
//     and release.go pushes them later.
//   - Fan-in reads jobs whose barrier was reached or that must end (fanfold:fanin). It sends
//     them to their next stage, or makes the file and gives the record its final status:
//     fanin.go, small.go for batches of small jobs, claimed.go for all others, fold.go and
//     finish.go for both.
//   - Large jobs have their own stream and reader (fanfold:fanin:large), so that no other job
//     waits for them.
//
// A sweep deletes files to which no record points: sweep.go, and gone.go for deleted rows. Package recovery restores what Redis
// has lost; it must run beside every engine.
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
//
// Records (record for MySQL) and sink.Sink (sink, sink/gcs) hide where
// records and files are.
package engine
