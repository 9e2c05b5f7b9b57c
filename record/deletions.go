package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/engine/files"
)

// Deletions finds rows that were deleted. All methods are safe for concurrent use.
type Deletions struct{ s *Store }

var _ files.Deletions = Deletions{}

// Deletions returns the Deletions of the table.
func (s *Store) Deletions() Deletions { return Deletions{s} }

// Deleted implements files.Deletions. In a view it finds none: rows can leave a view undeleted.
func (d Deletions) Deleted(ctx context.Context, ids []string) (map[string]bool, error) {
	deleted := map[string]bool{}
	if whole, err := d.s.kind.IsTable(ctx, d.s.db.DB, d.s.names); err != nil {
		return nil, fmt.Errorf("type of %s: %w", d.s.table, err)
	} else if !whole {
		return deleted, nil
	}
	l, err := d.s.known(ctx)
	if err != nil {
		return nil, err
	}
	for batch := range slices.Chunk(ids, maxIDs) {
		// First the last id, then the rows: while a dump is being loaded, rows appear in its order.
		passed, err := d.passed(ctx, l, batch)
		if err != nil {
			return nil, err
		}
		found, err := d.s.read(ctx, passed, "")
		if err != nil {
			return nil, err
		}
		for _, id := range passed {
			if _, exists := found[id]; !exists {
				deleted[id] = true
			}
		}
	}
	return deleted, nil
}

// passed returns the ids that rows can have and that are not after the last id in the table. The
// database compares them, because a collation orders texts.
func (d Deletions) passed(ctx context.Context, l *layout, ids []string) (passed []string, err error) {
	var exact []string
	var args []any
	for _, id := range ids {
		if arg, ok := l.exact(id); ok {
			exact, args = append(exact, id), append(args, arg)
		}
	}
	if len(exact) == 0 {
		return nil, nil
	}
	before, into := make([]bool, len(exact)), make([]any, len(exact))
	for i := range before {
		into[i] = &before[i]
	}
	statement := "SELECT " + strings.TrimSuffix(strings.Repeat("? <= l.last, ", len(exact)), ", ") +
		" FROM (SELECT {id} AS last FROM {table} ORDER BY {id} DESC LIMIT 1) AS l"
	err = d.s.db.QueryRowContext(ctx, d.s.sql(statement), args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) { // the table is empty
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("last id of %s: %w", d.s.table, err)
	}
	for i, id := range exact {
		if before[i] {
			passed = append(passed, id)
		}
	}
	return passed, nil
}

// Pointed implements files.Deletions in one statement, which reads the whole table if its file
// column has no index.
func (d Deletions) Pointed(ctx context.Context, files []string) (map[string]bool, error) {
	args := make([]any, len(files))
	for i, file := range files {
		args[i] = file
	}
	found, err := collect(ctx, d.s.db, func(rows *sql.Rows) (file string, err error) { return file, rows.Scan(&file) },
		d.s.sql("SELECT DISTINCT {file text} FROM {table} WHERE {file} IN ("+marks(len(files))+")"), args...)
	if err != nil {
		return nil, fmt.Errorf("files of %s: %w", d.s.table, err)
	}
	pointed := map[string]bool{}
	for _, file := range files {
		// A collation may have found another spelling.
		pointed[file] = slices.ContainsFunc(found, func(other string) bool {
			return strings.EqualFold(file, strings.TrimRight(other, " "))
		})
	}
	return pointed, nil
}

// sweeps is the name in fanfold_meta of when the calls of Unbroken began and when the last one was,
// in seconds.
const sweeps = "sweeps"

// Unbroken implements files.Deletions. The time is in the database itself, so that a backup restores
// the time of the backup.
func (d Deletions) Unbroken(ctx context.Context, gap time.Duration) (time.Duration, error) {
	before, err := d.s.meta(ctx, d.s.db, sweeps)
	if err != nil {
		return 0, err
	}
	var since, last int64
	now := time.Now()
	_, err = fmt.Sscanf(before, "%d %d", &since, &last)
	if pause := now.Sub(time.Unix(last, 0)); err != nil || pause.Abs() > gap {
		since = now.Unix()
	} else if pause < gap/100 {
		return now.Sub(time.Unix(since, 0)), nil
	}
	// If another process was first, its value does as well.
	_, err = d.s.setMeta(ctx, "the time of a sweep", sweeps, before, fmt.Sprintf("%d %d", since, now.Unix()))
	return now.Sub(time.Unix(since, 0)), err
}
