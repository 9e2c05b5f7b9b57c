// Package format answers one question: what does the file look like?
//
// A Kind is a file format: its name, its own fields of the configuration, the ending of its files
// and the Encoder of their rows. CSV is here; others, such as format/xlsx, have packages of their own.
// A File is one file of a kind: it writes the encoded rows, compresses them, puts them into an archive
// and enforces the limits of the report, whatever the kind. All kinds pass formattest.
package format
