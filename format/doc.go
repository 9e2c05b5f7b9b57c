// Package format answers one question: what does the file look like?
//
// CSV writes rows, whose cells are the JSON of values, by RFC 4180 or with the options of a report:
// delimiter, text for NULL, format and time zone of dates, and the handling of texts that a
// spreadsheet would read as formulas. It compresses the file and enforces its limits. Another format
// is another type with the same methods.
package format
