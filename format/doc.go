// Package format answers one question: what does the file look like?
//
// A Kind is a file format: its name, its own fields of the configuration, the ending of its files
// and the Encoder of their rows. CSV is one. A File is one file of a kind: it writes the encoded
// rows, compresses them and enforces the limits of the report, whatever the kind. Another format is
// another Kind, here or in a package of its own, which passes formattest.
package format
