// Package xlsx answers one question: what does a workbook of Excel look like that a stream of rows makes?
//
// The encoder turns a row into the XML of its typed cells. The book puts these into the sheets of a zip archive as
// they come: it holds the first 64 KB of rows, from which it takes the widths of the columns, and nothing else. Neither
// times nor the sizes of the pieces are in the file, so the same rows become the same bytes.
package xlsx
