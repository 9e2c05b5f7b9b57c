// Package format answers one question: what does the file look like?
//
// Layout says which column of which listener is where, and encodes the cells as a CSV: as
// RFC 4180 has it, or with the options of a report (delimiter, NULL, dates, formulas).
// File compresses the lines and limits their bytes, Output writes them.
package format
