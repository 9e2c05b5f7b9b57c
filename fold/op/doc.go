// Package op answers one question: how do rows flow through a fold?
//
// A Join reads datasets and joins their rows. The other operators take rows one by one and give rows to an Output. A
// row is a list of cells, the JSON of values; what the cells mean is said by functions that the caller passes: keys as
// bytes, conditions as booleans.
//
//	datasets ──▶ Join ──▶ Group ──▶ Filter ──▶ Sort ──▶ Project ──▶ Limit ──▶ Output
//
// The order of the rows is that of the first dataset, which is read once, block by block, or of the first rows of
// groups. Rows are looked up in the other tables, the sides. A side is
//
//   - in memory: all of its rows are in an arena with a hash table (arena.go, hashtable.go);
//   - merged: it exceeds the budget, but is sorted by the key, as the first dataset is (sorted.go);
//   - spilled: it exceeds the budget and is not sorted. Its rows go to the scratch file, partitioned by the rows that
//     they match (spill.go, index.go, part.go).
//
// If a side is spilled whose key needs rows of other sides, the rows joined so far are stored first; they are a
// segment of the join (segment.go), as the rows of the first table and the rows of each side without a match are.
//
// All operators share a Memory: what exceeds it goes to runs in one scratch file. Sort merges sorted runs, Group
// divides the rows of further groups into parts. The rows and their order are the same with every budget and any
// number of goroutines.
//
// Blocks of rows are joined in parallel, unless a side is merged or keeps its own rows (parallel.go, pool.go). Each
// goroutine has a Lane of every operator behind the join (stream.go), which passes its rows on in their order. The
// lanes of a Group compute keys, and every group belongs to one of its shards, a goroutine that takes the rows in that
// order (group.go, group_lane.go, shard.go); the lanes of a Sort make records with their keys (sort.go, sorter.go).
// What comes behind a Group or Sort has lanes again (outlet.go).
package op
