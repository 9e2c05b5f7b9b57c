package record

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/engine/recovery"
)

// snapshotRows is how many parts one statement writes: with parts of some 30 KB a
// statement fits into the smallest max_allowed_packet.
const snapshotRows = 16

// SnapshotVersion implements recovery.Store.
func (s *Store) SnapshotVersion(ctx context.Context) (string, error) {
	return s.meta(ctx, s.db, snapshot)
}

// Snapshot implements recovery.Store: version and parts are of the same moment.
func (s *Store) Snapshot(ctx context.Context) (version string, parts []recovery.Part, err error) {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return "", nil, tableError("read snapshot", err)
	}
	defer func() { _ = tx.Rollback() }()
	if version, err = s.meta(ctx, tx, snapshot); err != nil {
		return "", nil, err
	}
	rows, err := tx.QueryContext(ctx, "SELECT kind, part, members, data FROM "+s.beside(snapshotTable)+" WHERE records = ? ORDER BY kind, part", s.names.table)
	if err != nil {
		return "", nil, tableError("read snapshot", err)
	}
	defer rows.Close()
	for rows.Next() {
		var p recovery.Part
		if err := rows.Scan(&p.Set, &p.Number, &p.Members, &p.Data); err != nil {
			return "", nil, tableError("read snapshot", err)
		}
		parts = append(parts, p)
	}
	if err := rows.Err(); err != nil {
		return "", nil, tableError("read snapshot", err)
	}
	return version, parts, nil
}

// SaveSnapshot implements recovery.Store, in one transaction: the row of the version
// keeps others out until its end.
func (s *Store) SaveSnapshot(ctx context.Context, before, now string, parts []recovery.Part, whole bool) (bool, error) {
	saved, err := contended(ctx, func() (bool, error) {
		tx, err := s.db.BeginTx(ctx, nil)
		if err != nil {
			return false, err
		}
		defer func() { _ = tx.Rollback() }()
		if ok, err := s.setMeta(ctx, tx, snapshot, before, now); err != nil || !ok {
			return false, err
		}
		if err := s.saveParts(ctx, tx, parts, whole); err != nil {
			return false, err
		}
		return true, tx.Commit()
	})
	if err != nil {
		return false, tableError("save snapshot", err)
	}
	return saved, nil
}

func (s *Store) saveParts(ctx context.Context, tx *sql.Tx, parts []recovery.Part, whole bool) error {
	table := s.beside(snapshotTable)
	if whole {
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE records = ?", s.names.table); err != nil {
			return err
		}
	}
	var put []recovery.Part
	for _, p := range parts {
		if p.Data != nil {
			put = append(put, p)
		} else if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE records = ? AND kind = ? AND part = ?", s.names.table, p.Set, p.Number); err != nil {
			return err
		}
	}
	for batch := range slices.Chunk(put, snapshotRows) {
		var args []any
		for _, p := range batch {
			args = append(args, s.names.table, p.Set, p.Number, p.Members, p.Data)
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO "+table+" (records, kind, part, members, data) VALUES "+
			strings.Repeat("(?, ?, ?, ?, ?), ", len(batch)-1)+"(?, ?, ?, ?, ?) ON DUPLICATE KEY UPDATE members = VALUES(members), data = VALUES(data)", args...); err != nil {
			return err
		}
	}
	return nil
}

// SnapshotMembers returns how many ids, timers and pauses the snapshot has.
func (s *Store) SnapshotMembers(ctx context.Context) (n int, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT COALESCE(SUM(members), 0) FROM "+s.beside(snapshotTable)+" WHERE records = ?", s.names.table).Scan(&n)
	if err != nil {
		return 0, tableError("read snapshot", err)
	}
	return n, nil
}
