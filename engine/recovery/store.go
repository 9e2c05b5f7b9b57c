package recovery

import (
	"context"
	"errors"
	"time"

	"github.com/fanfold/fanfold/engine"
)

// ErrNoTables is returned if the tables of a Store do not exist or may not be used.
var ErrNoTables = errors.New("recovery: the tables for snapshots are missing")

// Store keeps in the database what otherwise only Redis knows: its epoch, and a snapshot of delayed
// ids, timers and pauses. All methods are safe for concurrent use, and return ErrNoTables if there
// are no tables.
type Store interface {
	// Epoch returns what was noted last; empty where nothing was.
	Epoch(ctx context.Context) (string, error)
	// SetEpoch notes another one, if the one that is noted still is before
	// (empty: none is). It tells whether it is noted now.
	SetEpoch(ctx context.Context, before, now string) (bool, error)
	// SnapshotVersion returns the version of the snapshot; empty where there is none.
	SnapshotVersion(ctx context.Context) (string, error)
	// Snapshot returns the snapshot, with its version.
	Snapshot(ctx context.Context) (version string, parts []Part, err error)
	// SaveSnapshot replaces the snapshot, if its version still is before (empty: there
	// is none). It tells whether it did. After an error it is not known whether it did.
	SaveSnapshot(ctx context.Context, before, now string, parts []Part) (bool, error)
}

// Records is the store of records.
type Records interface {
	// Startable returns up to n records that a pass looks at: PENDING and PROCESSING
	// ones that have not changed for the grace time, in the order of their ids, after an
	// id (empty: from the first).
	Startable(ctx context.Context, after string, grace time.Duration, n int) ([]engine.Record, error)
}
