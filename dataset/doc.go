// Package dataset answers one question: what do listeners write?
//
// A dataset is the rows that a listener found. Redis stores it by column and in chunks: a
// chunk is one JSON array of scalars for each column, or a zstd frame of that array.
//
//	rows ──Builder──▶ JSON arrays ──Compressor──▶ Redis ──DecodeChunk──▶ Chunk ──Cell──▶ JSON of a value
//	rows of a foreign service ──Rows──▶ JSON arrays
//
// A value that is not exactly what docs/reference/keys.md allows is an error, which names the
// column and the byte or the row. Nothing here does I/O.
package dataset
