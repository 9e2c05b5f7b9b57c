// Package report answers one question: what is a report?
//
// A report is a definition in the configuration file (package config): stages of
// listeners, a join and a CSV layout. This package gives each definition its hash, binds the parameters of a record to it, encodes and
// decodes the columns that listeners find (Builder, Compressor, Chunk), joins them and
// writes the CSV (Fold).
//
// Everything here is a pure function of its arguments: no Redis, no SQL, no
// clock. What has to be read from outside (chunks of data), or written there (scratch
// files), is given as a function or an iterator.
//
//	file ──config.Load──▶ Report ──Bind──▶ Parameters
//	rows ──Builder──▶ JSON arrays in Redis ──DecodeChunk──▶ Chunk ──Fold──▶ CSV
package report
