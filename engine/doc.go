// Package engine answers one question: who moves a job forward?
//
// It has three readers, of which any number may run in any number of processes:
//
//   - the trigger reads the ids that services push (fanfold:jobs), reads their
//     records, makes them PROCESSING with the next attempt, and starts the jobs:
//     trigger.go, start.go and, for what a push means, decide.go;
//   - fan-in reads the jobs whose barrier was reached or that are to end
//     (fanfold:fanin), sends them into their next stage or makes the file, and
//     gives the record its final status: fanin.go, small.go for batches of small
//     jobs, claimed.go for every other one, fold.go and finish.go for both. Large jobs
//     have a stream and a reader of their own (fanfold:fanin:large), so that no other
//     job waits for them.
//
// A sweep deletes files to which no record points: sweep.go. Package recovery gives back
// what Redis has lost; it must run beside every engine.
//
// # Order
//
// An entry is acknowledged last, after its effect. So a crash anywhere leaves the
// entry pending, another process takes it over, and the state's attempt and fence
// tell it what is left to be done:
//
//	trigger  record PROCESSING, attempt+1 → start → acknowledge
//	fan-in   claim → fold → PUBLISHING → object → manifest → record SUCCESS or PARTIAL → settle → acknowledge
//	         (a small job is folded first, and claimed and PUBLISHING at once)
//	         claim → record FAILED or CANCELLED → remove the file → settle → acknowledge
//
// Where records and files are is behind Records (engine/record for MySQL) and
// sink.Sink (engine/sink, engine/sink/gcs).
package engine
