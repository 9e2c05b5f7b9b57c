package recovery

import (
	"context"
	"errors"
)

// Due is a member of a sorted set and its score: an id or a timer and when it is
// due, in Unix milliseconds (or seconds, as a service wrote it).
type Due struct {
	Member string
	At     int64
}

// ErrNoTables is returned where the tables of a Store do not exist or may not
// be used.
var ErrNoTables = errors.New("recovery: the tables that outlive Redis are missing")

// Store keeps in the database what only Redis knows otherwise: which memory it
// is, and what is due later. A set is named by its key
// in Redis. All methods are safe for concurrent use, and return ErrNoTables where
// there are no tables.
type Store interface {
	// Epoch returns what was noted last; empty where nothing was.
	Epoch(ctx context.Context) (string, error)
	// SetEpoch notes another one, if the one that is noted still is before
	// (empty: none is). It tells whether it is noted now.
	SetEpoch(ctx context.Context, before, now string) (bool, error)
	// Dues returns at most that many members of a set, in the order of their
	// bytes, after a member (empty: from the first).
	Dues(ctx context.Context, set, after string, most int) ([]Due, error)
	// Mirrored returns the number of the last SaveDues; 0 where there was none.
	Mirrored(ctx context.Context) (int64, error)
	// SaveDues puts members into a set, or changes when they are due, and removes
	// others. Its number comes first, and must be greater than the last one; it
	// tells whether it was, and saves nothing where it was not. After an error it is
	// not known whether it saved.
	SaveDues(ctx context.Context, number int64, set string, put []Due, remove []string) (bool, error)
}
