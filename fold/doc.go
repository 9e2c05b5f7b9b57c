// Package fold answers one question: how do datasets become the rows of a file?
//
// A Plan is either a SELECT (package query) or a join by one key, as A JOIN B USING (key) JOIN C USING (key) does in
// SQL. Both run on the operators of package op. A Plan passes the rows to a Writer: one cell for every column of the
// file. It does not know the format of the file.
//
//	datasets ──NewPlan, NewSelect──▶ Plan ──Fold──▶ rows of cells ──▶ Writer
package fold
