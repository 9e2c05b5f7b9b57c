package record

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/engine"
)

// ancient is the age of a row without a time, and the most that an age can be.
const ancient = 100 * 365 * 24 * time.Hour

// Read implements engine.Records: one SELECT for up to 1000 ids. An id that no
// row can have, such as x1 in an integer column, is not asked for.
func (s *Store) Read(ctx context.Context, ids []string) (map[string]engine.Record, error) {
	l, err := s.known(ctx)
	if err != nil {
		return nil, err
	}
	found := make(map[string]engine.Record, len(ids))
	for batch := range slices.Chunk(ids, maxIDs) {
		rows, err := s.find(ctx, l, batch)
		if err != nil {
			return nil, err
		}
		for _, id := range assign(found, batch, rows, l) {
			one, err := s.find(ctx, l, []string{id})
			if err != nil {
				return nil, err
			}
			if len(one) > 0 {
				found[id] = one[0]
			}
		}
	}
	return found, nil
}

// find returns the rows that the database finds for these ids.
func (s *Store) find(ctx context.Context, l *layout, ids []string) ([]engine.Record, error) {
	var args []any
	for _, id := range ids {
		if arg, ok := l.argument(id); ok {
			args = append(args, arg)
		}
	}
	if len(args) == 0 {
		return nil, nil
	}
	return s.query(ctx, s.columns["id"]+" IN ("+marks(len(args))+")"+s.filter, args...)
}

// query returns the records that fulfil a condition, which may be followed by an
// order and a limit.
func (s *Store) query(ctx context.Context, where string, args ...any) ([]engine.Record, error) {
	return s.records(ctx, s.selection()+" WHERE "+where, args...)
}

// records returns what a statement made of selections finds.
func (s *Store) records(ctx context.Context, statement string, args ...any) ([]engine.Record, error) {
	rows, err := s.db.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, fmt.Errorf("record: read: %w", err)
	}
	defer rows.Close()
	var records []engine.Record
	for rows.Next() {
		r, err := s.scan(rows)
		if err != nil {
			return nil, fmt.Errorf("record: read: %w", err)
		}
		records = append(records, r)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("record: read: %w", err)
	}
	return records, nil
}

// selection is the SELECT for scan.
func (s *Store) selection() string {
	optional := func(name string) string {
		if column, ok := s.columns[name]; ok {
			return column
		}
		return "NULL"
	}
	// What is too long does not come here: 100 records of 10 MB would take a gigabyte.
	parameters := optional("parameters")
	length := "COALESCE(LENGTH(" + parameters + "), 0)"
	parameters = fmt.Sprintf("CASE WHEN %s <= %d THEN %s END", length, s.most, parameters)
	return fmt.Sprintf("SELECT %s, COALESCE(%s, ''), %s, %s, %s, COALESCE(%s, 0), COALESCE(%s, ''), %s, TIMESTAMPDIFF(MICROSECOND, %s, NOW(6)) FROM %s",
		s.columns["id"], s.columns["report"], parameters, length, s.columns["status"], s.columns["attempt"],
		s.columns["file"], optional("error"), s.columns["updated"], s.table)
}

func (s *Store) scan(rows *sql.Rows) (engine.Record, error) {
	var r engine.Record
	var status, reason sql.NullString
	var age sql.NullInt64
	var length int64
	if err := rows.Scan(&r.ID, &r.Report, &r.Parameters, &length, &status, &r.Attempt, &r.File, &reason, &age); err != nil {
		return r, err
	}
	if length > s.most {
		r.Unread = fmt.Errorf("parameters: %d bytes, and limits.parameters is %d: raise it, or put long lists into a table that the queries read", length, s.most)
	}
	r.Status, r.Error, r.Age = s.status(status.String), reason.String, ancient
	if age.Valid && age.Int64 < ancient.Microseconds() {
		// A row from the future: the column rounds, or somebody's clock is ahead.
		r.Age = time.Duration(max(0, age.Int64)) * time.Microsecond
	}
	return r, nil
}

// one returns the row of exactly this id.
func (s *Store) one(ctx context.Context, id string) (engine.Record, error) {
	found, err := s.Read(ctx, []string{id})
	if err != nil {
		return engine.Record{}, err
	}
	r, ok := found[id]
	switch {
	case !ok:
		return engine.Record{}, fmt.Errorf("record %s: %w", id, engine.ErrNoRecord)
	case r.ID != id:
		return engine.Record{}, fmt.Errorf("record %s: %w: the nearest is %s", id, engine.ErrNoRecord, r.ID)
	}
	return r, nil
}

// marks is a list of n placeholders.
func marks(n int) string { return strings.Repeat("?, ", n-1) + "?" }
