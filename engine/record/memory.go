package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/recovery"
)

var _ recovery.Store = (*Store)(nil)

// Names among the values of fanfold_meta.
const (
	epoch        = "epoch"
	installation = "installation"
	mirrored     = "mirrored"
)

// Numbers of server errors that say that a table cannot be used.
const (
	errAccess      = 1044
	errTableAccess = 1142
	errNoTable     = 1146
)

// scoped is a name in the tables beside the record table: installations with
// record tables of their own may share a schema.
func (s *Store) scoped(name string) string { return s.names.table + " " + name }

func (s *Store) beside(table string) string { return tableName{s.names.schema, table}.quoted() }

// memoryError says what failed, and whether it is that there are no tables.
func memoryError(what string, err error) error {
	if serverError(err, errAccess, errTableAccess, errNoTable) {
		err = fmt.Errorf("%w: %w", recovery.ErrNoTables, err)
	}
	return fmt.Errorf("record: %s: %w", what, err)
}

// Epoch implements recovery.Store.
func (s *Store) Epoch(ctx context.Context) (string, error) {
	var value string
	err := s.db.QueryRowContext(ctx, "SELECT value FROM "+s.beside(metaTable)+" WHERE name = ?", s.scoped(epoch)).Scan(&value)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", memoryError("read epoch", err)
	}
	return value, nil
}

// SetEpoch implements recovery.Store.
func (s *Store) SetEpoch(ctx context.Context, before, now string) (bool, error) {
	statement, args := "UPDATE "+s.beside(metaTable)+" SET value = ? WHERE name = ? AND value = ?", []any{now, s.scoped(epoch), before}
	if before == "" {
		statement, args = "INSERT IGNORE INTO "+s.beside(metaTable)+" (value, name) VALUES (?, ?)", args[:2]
	}
	n, err := contended(ctx, func() (int64, error) { return changed(s.db.ExecContext(ctx, statement, args...)) })
	if err != nil {
		return false, memoryError("note epoch", err)
	}
	return n == 1, nil
}

// Installation returns the tag in the names of this installation's files (see
// engine.NewTag); empty where it has none yet. It returns recovery.ErrNoTables where there
// are no tables.
func (s *Store) Installation(ctx context.Context) (string, error) {
	var tag string
	err := s.db.QueryRowContext(ctx, "SELECT value FROM "+s.beside(metaTable)+" WHERE name = ?", s.scoped(installation)).Scan(&tag)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", memoryError("read installation", err)
	}
	if err == nil && !engine.ValidTag(tag) {
		return "", fmt.Errorf("record: %s has the value %q for the name %q, which Fanfold has not written: delete the row, and a new one is made",
			metaTable, tag, s.scoped(installation))
	}
	return tag, nil
}

// Install is Installation, and makes the tag where there is none. All processes
// get the tag of the first one that makes it.
func (s *Store) Install(ctx context.Context) (string, error) {
	tag, err := s.Installation(ctx)
	if err != nil || tag != "" {
		return tag, err
	}
	if _, err := contended(ctx, func() (int64, error) {
		return changed(s.db.ExecContext(ctx, "INSERT IGNORE INTO "+s.beside(metaTable)+" (value, name) VALUES (?, ?)", engine.NewTag(), s.scoped(installation)))
	}); err != nil {
		return "", memoryError("note installation", err)
	}
	tag, err = s.Installation(ctx)
	if err == nil && tag == "" {
		err = fmt.Errorf("record: %s does not show the installation's row right after it was written: let records.database name the primary server, and no replica", metaTable)
	}
	return tag, err
}

// Dues implements recovery.Store: one SELECT along the primary key.
func (s *Store) Dues(ctx context.Context, set, after string, most int) ([]recovery.Due, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT member, due FROM "+s.beside(dueTable)+" WHERE kind = ? AND member > ? ORDER BY member LIMIT ?",
		s.scoped(set), after, most)
	if err != nil {
		return nil, memoryError("read due times", err)
	}
	defer rows.Close()
	var dues []recovery.Due
	for rows.Next() {
		var d recovery.Due
		if err := rows.Scan(&d.Member, &d.At); err != nil {
			return nil, memoryError("read due times", err)
		}
		dues = append(dues, d)
	}
	if err := rows.Err(); err != nil {
		return nil, memoryError("read due times", err)
	}
	return dues, nil
}

// Mirrored implements recovery.Store.
func (s *Store) Mirrored(ctx context.Context) (int64, error) {
	var number int64
	err := s.db.QueryRowContext(ctx, "SELECT value FROM "+s.beside(metaTable)+" WHERE name = ?", s.scoped(mirrored)).Scan(&number)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, memoryError("read number of due times", err)
	}
	return number, nil
}

// SaveDues implements recovery.Store, with statements of up to 1000 rows in one
// transaction: the row of the number keeps others out until its end.
func (s *Store) SaveDues(ctx context.Context, number int64, set string, put []recovery.Due, remove []string) (bool, error) {
	saved, err := contended(ctx, func() (bool, error) {
		tx, err := s.db.BeginTx(ctx, nil)
		if err != nil {
			return false, err
		}
		defer func() { _ = tx.Rollback() }()
		if next, err := s.number(ctx, tx, number); err != nil || !next {
			return false, err
		}
		if err := s.saveDues(ctx, tx, set, put, remove); err != nil {
			return false, err
		}
		return true, tx.Commit()
	})
	if err != nil {
		return false, memoryError("save due times", err)
	}
	return saved, nil
}

// number notes the number of a SaveDues, if it is greater than the last one.
func (s *Store) number(ctx context.Context, tx *sql.Tx, number int64) (bool, error) {
	n, err := changed(tx.ExecContext(ctx, "UPDATE "+s.beside(metaTable)+" SET value = ? WHERE name = ? AND CAST(value AS SIGNED) < ?",
		number, s.scoped(mirrored), number))
	if n == 0 && err == nil {
		n, err = changed(tx.ExecContext(ctx, "INSERT IGNORE INTO "+s.beside(metaTable)+" (value, name) VALUES (?, ?)", number, s.scoped(mirrored)))
	}
	return n > 0, err
}

func (s *Store) saveDues(ctx context.Context, tx *sql.Tx, set string, put []recovery.Due, remove []string) error {
	for batch := range slices.Chunk(put, maxIDs) {
		var args []any
		for _, d := range batch {
			args = append(args, s.scoped(set), d.Member, d.At)
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO "+s.beside(dueTable)+" (kind, member, due) VALUES "+
			strings.Repeat("(?, ?, ?), ", len(batch)-1)+"(?, ?, ?) ON DUPLICATE KEY UPDATE due = VALUES(due)", args...); err != nil {
			return err
		}
	}
	for batch := range slices.Chunk(remove, maxIDs) {
		args := []any{s.scoped(set)}
		for _, member := range batch {
			args = append(args, member)
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+s.beside(dueTable)+" WHERE kind = ? AND member IN ("+marks(len(batch))+")", args...); err != nil {
			return err
		}
	}
	return nil
}
