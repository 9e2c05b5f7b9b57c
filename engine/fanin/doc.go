// Package fanin answers one question: what happens to a job whose barrier was reached?
//
// A FanIn has two readers (fanin.go). One handles batches of small jobs (batch.go) and claims all
// others (claim.go). Large jobs have their own stream and reader, so that no other job waits for
// them. Both take one path (work.go), on which a large job is a batch of one:
//
//	prepare  advance the job to its next stage, or make its file: fold.go, dataset.go
//	publish  the point of no return; claims small jobs
//	commit   object, manifest, record: commit.go, manifest.go
//	settle   remove the state and acknowledge the entry
//
// finish.go ends jobs that fail or whose record was changed by others. result.go says how an error
// ends a try.
package fanin
