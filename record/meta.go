package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/engine/recovery"
)

// Names of values in fanfold_meta.
const (
	epoch        = "epoch"
	installation = "installation"
	snapshot     = "snapshot" // its version
)

// scoped returns a name in the tables beside the record table: several installations with their own
// record tables may share a schema.
func (s *mapping) scoped(name string) string { return s.names.Name + " " + name }

func (s *mapping) beside(table string) string { return s.kind.Table(Table{s.names.Schema, table}) }

// tableError wraps an error, and marks missing tables.
func (s metadata) tableError(what string, err error) error {
	if s.kind.Is(err, NoTable|Denied) {
		err = fmt.Errorf("%w: %w", recovery.ErrNoTables, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// meta returns a value of fanfold_meta; empty: none.
func (s metadata) meta(ctx context.Context, on querier, name string) (value string, err error) {
	err = on.QueryRowContext(ctx, s.sql("SELECT value FROM {meta} WHERE name = ?"), s.scoped(name)).Scan(&value)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", s.tableError("read "+name, err)
	}
	return value, nil
}

// setMeta sets a value of fanfold_meta if it is still before (empty: none). It tells whether it
// did. Errors name what it stores.
func (s metadata) setMeta(ctx context.Context, what, name, before, now string) (bool, error) {
	once := func() (bool, error) { return s.setMetaOn(ctx, s.db, name, before, now) }
	set, err := repeated(ctx, s.kind, once, Contended)
	if err != nil {
		return false, s.tableError("store "+what, err)
	}
	return set, nil
}

// execer is a pool or a transaction.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// setMetaOn is one try of setMeta, alone or as a part of a transaction. If it did not set the value, the caller
// rolls back.
func (s metadata) setMetaOn(ctx context.Context, on execer, name, before, now string) (bool, error) {
	statement, args := "UPDATE {meta} SET value = ? WHERE name = ? AND value = ?", []any{now, s.scoped(name), before}
	if before == "" {
		statement, args = "INSERT INTO {meta} (value, name) VALUES (?, ?)", args[:2]
	}
	n, err := changed(on.ExecContext(ctx, s.sql(statement), args...))
	if s.kind.Is(err, Duplicate) {
		return false, nil
	}
	return n == 1, err
}

// Installation returns the tag in the names of this installation's files (see files.NewTag);
// empty: none yet. It returns recovery.ErrNoTables if the tables do not exist.
func (s metadata) Installation(ctx context.Context) (string, error) {
	tag, err := s.meta(ctx, s.db, installation)
	if err == nil && tag != "" && !files.ValidTag(tag) {
		return "", fmt.Errorf("%s has the invalid value %q for the name %q: delete the row, and Fanfold creates a "+
			"new one",
			metaTable, tag, s.scoped(installation))
	}
	return tag, err
}

// Install is Installation, and creates the tag if there is none. All processes get the tag of the
// first one.
func (s metadata) Install(ctx context.Context) (string, error) {
	tag, err := s.Installation(ctx)
	if err != nil || tag != "" {
		return tag, err
	}
	if _, err := s.setMeta(ctx, "the installation's tag", installation, "", files.NewTag()); err != nil {
		return "", err
	}
	tag, err = s.Installation(ctx)
	if err == nil && tag == "" {
		err = fmt.Errorf("%s does not contain the installation's row right after it was written: set "+
			"records.database to the primary server, not to a replica", metaTable)
	}
	return tag, err
}
