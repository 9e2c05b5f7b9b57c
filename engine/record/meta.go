package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/recovery"
)

// Names among the values of fanfold_meta.
const (
	epoch        = "epoch"
	installation = "installation"
	snapshot     = "snapshot" // its version
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

// tableError says what failed, and whether it is that there are no tables.
func tableError(what string, err error) error {
	if serverError(err, errAccess, errTableAccess, errNoTable) {
		err = fmt.Errorf("%w: %w", recovery.ErrNoTables, err)
	}
	return fmt.Errorf("record: %s: %w", what, err)
}

// meta returns a value of fanfold_meta; empty where there is none.
func (s *Store) meta(ctx context.Context, on querier, name string) (value string, err error) {
	err = on.QueryRowContext(ctx, "SELECT value FROM "+s.beside(metaTable)+" WHERE name = ?", s.scoped(name)).Scan(&value)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", tableError("read "+name, err)
	}
	return value, nil
}

// setMeta sets a value of fanfold_meta, if it still is before (empty: there is none). It
// tells whether it did.
func (s *Store) setMeta(ctx context.Context, on execer, name, before, now string) (bool, error) {
	statement, args := "UPDATE "+s.beside(metaTable)+" SET value = ? WHERE name = ? AND value = ?", []any{now, s.scoped(name), before}
	if before == "" {
		statement, args = "INSERT IGNORE INTO "+s.beside(metaTable)+" (value, name) VALUES (?, ?)", args[:2]
	}
	n, err := changed(on.ExecContext(ctx, statement, args...))
	return n == 1, err
}

// Installation returns the tag in the names of this installation's files (see
// engine.NewTag); empty where it has none yet. It returns recovery.ErrNoTables where
// there are no tables.
func (s *Store) Installation(ctx context.Context) (string, error) {
	tag, err := s.meta(ctx, s.db, installation)
	if err == nil && tag != "" && !engine.ValidTag(tag) {
		return "", fmt.Errorf("record: %s has the value %q for the name %q, which Fanfold has not written: delete the row, and a new one is made",
			metaTable, tag, s.scoped(installation))
	}
	return tag, err
}

// Install is Installation, and makes the tag where there is none. All processes
// get the tag of the first one that makes it.
func (s *Store) Install(ctx context.Context) (string, error) {
	tag, err := s.Installation(ctx)
	if err != nil || tag != "" {
		return tag, err
	}
	if _, err := contended(ctx, func() (bool, error) { return s.setMeta(ctx, s.db, installation, "", engine.NewTag()) }); err != nil {
		return "", tableError("note installation", err)
	}
	tag, err = s.Installation(ctx)
	if err == nil && tag == "" {
		err = fmt.Errorf("record: %s does not show the installation's row right after it was written: let records.database name the primary server, and no replica", metaTable)
	}
	return tag, err
}
