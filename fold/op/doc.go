// Package op answers one question: how do rows flow through a query?
//
// An operator takes rows one by one and gives rows to an Output. A row is a list of cells, the JSON of values; what
// the cells mean is said by functions that the caller passes: keys as bytes, conditions as booleans.
//
//	scan ──▶ Filter ──▶ Join ──▶ Group ──▶ Project ──▶ Sort ──▶ Limit ──▶ Output
//
// Operators that hold rows share a Memory. What exceeds it goes to runs in one scratch file: Sort merges sorted runs,
// Group divides the rows of further groups into partitions, Join sorts both sides by the key and merges them. The
// order of the rows is the same with every budget: that of the input of a Group, a Join or a Distinct.
package op
