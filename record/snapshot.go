package record

import (
	"context"
	"database/sql"

	"github.com/fanfold/fanfold/engine/recovery"
)

// SnapshotVersion implements recovery.Store.
func (s *Partition) SnapshotVersion(ctx context.Context) (string, error) {
	return s.meta(ctx, s.db, s.name(snapshot))
}

// Snapshot implements recovery.Store. Version and parts are consistent.
func (s *Partition) Snapshot(ctx context.Context) (version string, parts []recovery.Part, err error) {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return "", nil, s.tableError("read snapshot", err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := s.contentVersion(ctx, tx); err != nil {
		return "", nil, err
	}
	if version, err = s.meta(ctx, tx, s.name(snapshot)); err != nil {
		return "", nil, err
	}
	parts, err = collect(ctx, tx, func(rows *sql.Rows) (p recovery.Part, err error) {
		return p, rows.Scan(&p.Members, &p.Data)
	}, s.sql("SELECT members, data FROM {snapshot} WHERE records = ? AND part BETWEEN ? AND ? ORDER BY part"),
		s.names.Name, s.firstPart(), s.firstPart()+maxParts-1)
	if err != nil {
		return "", nil, s.tableError("read snapshot", err)
	}
	return version, parts, nil
}

// SaveSnapshot implements recovery.Store in one transaction; the row of the version locks out
// others.
func (s *Partition) SaveSnapshot(ctx context.Context, before, now string, parts []recovery.Part) (bool, error) {
	saved, err := repeated(ctx, s.kind, func() (bool, error) {
		tx, err := s.db.BeginTx(ctx, nil)
		if err != nil {
			return false, err
		}
		defer func() { _ = tx.Rollback() }()
		if ok, err := s.setMetaOn(ctx, tx, s.name(snapshot), before, now); err != nil || !ok {
			return false, err
		}
		if _, err := s.contentVersion(ctx, tx); err != nil {
			return false, err // a newer release has begun to make the snapshots
		}
		if _, err := tx.ExecContext(ctx, s.sql("DELETE FROM {snapshot} WHERE records = ? AND part BETWEEN ? AND ?"),
			s.names.Name, s.firstPart(), s.firstPart()+maxParts-1); err != nil {
			return false, err
		}
		for i, p := range parts {
			if _, err := tx.ExecContext(ctx, s.sql("INSERT INTO {snapshot} (records, part, members, data) VALUES (?, ?, ?, ?)"),
				s.names.Name, s.firstPart()+i, p.Members, p.Data); err != nil {
				return false, err
			}
		}
		return true, tx.Commit()
	}, Contended)
	if err != nil {
		return false, s.tableError("save snapshot", err)
	}
	return saved, nil
}

// SnapshotMembers returns how many ids, timers and pauses the snapshot contains.
func (s *Store) SnapshotMembers(ctx context.Context) (n int, err error) {
	err = s.db.QueryRowContext(ctx, s.sql("SELECT COALESCE(SUM(members), 0) FROM {snapshot} WHERE records = ?"),
		s.names.Name).Scan(&n)
	if err != nil {
		return 0, s.tableError("read snapshot", err)
	}
	return n, nil
}
