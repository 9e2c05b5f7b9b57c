// Package scheduler answers one question: what happens because time passed?
//
// It has two loops, of which any number may run in any number of processes,
// since the scripts that they call move each thing once:
//
//   - delayed.go moves what is due from fanfold:delayed to the streams;
//   - deadlines.go decides that a job over its deadline fails; the engine then
//     changes the record.
//
// It needs Redis and nothing else.
package scheduler
