package dataset

import "context"

// Store has the chunks of one dataset: the hash of its job in Redis, or the spool. It is safe for concurrent use.
type Store interface {
	// Get returns some columns of a chunk, counted from 0: for every column a JSON array or a zstd frame of one, as
	// DecodeChunk reads them. They must not be changed.
	Get(ctx context.Context, columns []string, chunk int64) ([][]byte, error)
}
