// Package dataset answers one question: what do listeners write?
//
// A dataset is the rows that a listener found. Redis stores it by column and in chunks: for
// every column, a chunk has one JSON array of scalars, or a zstd frame of that array.
//
//	rows ──Builder──▶ JSON arrays ──Compressor──▶ Redis ──DecodeChunk──▶ Chunk ──Cell──▶ JSON of a value
//	rows of an external service ──Rows──▶ JSON arrays
//
// A large dataset can lie in the spool instead of Redis (package spool). A Store reads either.
//
// A value in another form than docs/reference/keys.md allows is an error, which names the
// column and the byte or the row. This package does no I/O.
package dataset
