// Package fold answers one question: how do datasets meet?
//
// A Plan joins the datasets of a job by their keys, as A JOIN B USING (key) JOIN C USING
// (key) does in SQL, and passes the rows to a Writer: one cell for every column of the file,
// as the listener wrote it. It does not know the format of the file.
//
//	datasets ──NewPlan──▶ Plan ──Fold──▶ rows of cells ──▶ Writer
//
// The rows are in the order of the first dataset, which is read once, chunk by chunk. Its
// rows are looked up in the other datasets, the sides. A side is
//
//   - in memory: all of its rows are in an arena with a hash table (arena.go, hashtable.go);
//   - sorted: it exceeds the budget, but is sorted by the key, as the first dataset is; both
//     are merged (sorted.go);
//   - spilled: it exceeds the budget and is not sorted. Its rows go to a scratch file,
//     partitioned by the row of the first dataset that they match (spill.go, index.go).
//
// Fold chooses before it writes the first row of the file. Rows of a full side without a
// match follow all other rows, in the order of the join.
//
// Chunks of the first dataset are joined in parallel, unless a side is sorted or full; their
// rows are written in order (pool.go).
package fold
