// Package spool answers one question: where do the rows of large datasets lie?
//
// A dataset that grows beyond Options.Above does not lie in Redis. Its chunks lie in segments: objects of any sink,
// which nothing overwrites. The hash of the job has the ticket: where the segments lie, and of each one its size and
// checksum.
//
//	rows ──Builder──▶ chunks ──Writer──▶ segments ──▶ sink      (a task)
//	                                  └─▶ ticket ──▶ Redis      (package scripts, under the fence of the task)
//	ticket ──Open──▶ Reader ──Get──▶ chunks                     (fan-in, and the tasks of later stages)
//
// Redis decides which segments are part of a dataset. A worker that has lost its task may go on writing: no ticket
// lists what it writes, so nobody reads it, and Drop or the daily sweep deletes it.
//
// External services can write segments, too. Check reads one and every value in it (handed.go), and a ticket lists it.
//
// A segment is, for every chunk and every column, one zstd frame (RFC 8878) of the JSON array, and an index in a
// skippable frame at the end. So zstd -dc prints the arrays. With Options.Plain, the arrays have no
// frames.
package spool
