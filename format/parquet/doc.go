// Package parquet answers one question: what does a Parquet file look like?
//
//	cells ──AppendRow──▶ physical values of a row ──writer──▶ columns of a row group ──▶ file
//
// The columns have the types that the dataset tells, and every one can have NULL. AppendRow checks and converts the
// cells, in parallel; the writer collects the columns of a row group, whose rows and bytes are bounded. A value that
// the type of its column cannot hold is an error, and never NULL.
package parquet
