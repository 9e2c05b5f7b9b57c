// Package fold answers one question: how do datasets meet?
//
// Fold joins the datasets of a job by their keys, as A JOIN B USING (key) JOIN C USING
// (key) does in SQL, and writes the rows of the file. All datasets but the first are held
// in memory and found by a hash table. What exceeds the memory goes through scratch files.
// Merge joins sorted datasets and holds nothing.
//
// The rows are in the order of the first dataset. Rows of other datasets that meet none
// (JoinType Full) follow, in the order of the join.
package fold
