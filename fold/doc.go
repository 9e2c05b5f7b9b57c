// Package fold answers one question: how do datasets meet?
//
// A Plan joins the datasets of a job by their keys, as A JOIN B USING (key) JOIN C USING
// (key) does in SQL, and gives the rows to a Writer: for each column of the file a cell, as
// the listener wrote it. It knows nothing of the file's format.
//
//	datasets ──NewPlan──▶ Plan ──Fold──▶ rows of cells ──▶ Writer
//
// The rows are in the order of the first dataset, which is read once, chunk by chunk. For
// each of its rows the others, the sides, are looked into. A side is
//
//   - held: all of its rows are in memory, in an arena with a hash table (arena.go,
//     hashtable.go);
//   - sorted: where it does not fit into the budget and is sorted by the key, as the first
//     dataset is, it is read along with that (sorted.go);
//   - spilled: else its rows go to a scratch file, divided by the row that they meet
//     (spill.go, index.go).
//
// Which one is known before the first row of the file. Rows of a full side that have met none
// come after all others, in the order of the join.
//
// Chunks of the first dataset are joined side by side, unless a side is sorted or full; their
// rows are written in order (crew.go).
package fold
