// Package value answers one question: what is a value, and what do operators make of it?
//
// Values, their types and the operators are those of MariaDB 10.11 with the default sql_mode: exact decimals,
// integers whose overflow is an error, NULL, dates with zeros, and comparisons of different types.
//
//	cell ──Decode──▶ Value ──Add, Compare, ToDecimal …──▶ Value ──AppendCell──▶ cell
//
// A cell is the JSON of a value, as dataset.Chunk.Cell returns it. Texts are compared by their bytes.
package value
