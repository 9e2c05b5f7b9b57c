// Package engine answers one question: who moves a job forward?
//
// It has two readers, of which any number may run in any number of processes:
//
//   - the trigger reads the ids that services push (fanfold:jobs), looks their
//     records up, makes them PROCESSING with the next attempt, and starts the
//     jobs: trigger.go and, for what a push means, decide.go;
//   - fan-in reads the jobs whose barrier was reached or that are to end
//     (fanfold:fanin), sends them into their next stage or makes the file, and
//     gives the record its final status: fanin.go, fold.go, finish.go, and where a
//     server is away again.go.
//
// A sweep deletes files to which no record points: sweep.go. What Redis has lost
// engine/recovery gives back; it must run beside every engine.
//
// # Order
//
// Whoever handles an entry acknowledges it last, after its effect. So a crash
// anywhere leaves the entry pending, another process takes it over, and finds
// with the state's attempt and fence what is left to be done:
//
//	trigger  record PROCESSING, attempt+1 → start → acknowledge
//	fan-in   claim → fold → PUBLISHING → object → manifest → record SUCCESS or PARTIAL → settle → acknowledge
//	         claim → record FAILED or CANCELLED → remove the file → settle → acknowledge
//
// Where records and files are is behind Records (engine/record for MySQL) and
// sink.Sink (engine/sink, engine/sink/gcs).
package engine
