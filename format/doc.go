// Package format answers one question: what does the file look like?
//
// CSV takes the rows of a file as cells, which are the JSON of values, and writes them as RFC
// 4180 has it, or with the options of a report: delimiter, text for NULL, forms and time zone
// of dates, and what becomes of texts that a spreadsheet takes for formulas. It compresses the
// file and holds it to its limits. Another format is another type with the same methods.
package format
