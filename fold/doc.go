// Package fold answers one question: how do datasets become the rows of a file?
//
// A Plan is a SELECT (package query) that runs on the operators of package op. Select has the one that the short form
// of a report, its join, stands for. A Plan passes the rows to a Writer: one cell for every column of the file. It does
// not know the format of the file. Plans keep the plans of a report for its next jobs.
//
//	datasets ──NewPlan──▶ Plan ──Fold──▶ rows of cells ──▶ Writer
package fold
