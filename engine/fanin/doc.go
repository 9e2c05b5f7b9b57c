// Package fanin answers one question: what happens to a job whose barrier was reached?
//
// A FanIn has two readers. One takes batches of small jobs (small.go) and claims all others
// (claimed.go). Large jobs have their own stream and reader, so that no other job waits for them.
//
// A job advances to its next stage, or fold.go makes its file and gives its record the final status;
// finish.go ends jobs that fail or whose record was changed by others. dataset.go reads what the
// listeners found, and manifest.go writes what the file was made from.
package fanin
