package record

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
)

// ancient is the age of a row without a time, and the maximum age.
const ancient = 100 * 365 * 24 * time.Hour

// Read implements engine.Records with one SELECT per 1000 ids. It does not query ids that no row
// can have, such as x1 in an integer column.
func (s reader) Read(ctx context.Context, ids []string) (map[string]engine.Record, error) {
	return s.read(ctx, ids, "{filter}")
}

// read is Read with another condition than the filter.
func (s reader) read(ctx context.Context, ids []string, condition string) (map[string]engine.Record, error) {
	l, err := s.known(ctx)
	if err != nil {
		return nil, err
	}
	found := make(map[string]engine.Record, len(ids))
	for batch := range slices.Chunk(ids, maxIDs) {
		rows, err := s.find(ctx, l, batch, condition)
		if err != nil {
			return nil, err
		}
		for _, id := range assign(found, batch, rows, l) {
			one, err := s.find(ctx, l, []string{id}, condition)
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

// find returns the rows that the database finds for these ids with a condition.
func (s reader) find(ctx context.Context, l *layout, ids []string, condition string) ([]engine.Record, error) {
	var args []any
	for _, id := range ids {
		if arg, ok := l.argument(id); ok {
			args = append(args, arg)
		}
	}
	if len(args) == 0 {
		return nil, nil
	}
	return s.records(ctx, s.selection(l)+" WHERE {id} IN ("+marks(len(args))+")"+condition, args...)
}

// records executes the template of a statement that is based on selection.
func (s reader) records(ctx context.Context, template string, args ...any) ([]engine.Record, error) {
	records, err := collect(ctx, s.db, s.scan, s.sql(template), args...)
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return records, nil
}

// querier is a pool or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// collect scans all rows of a statement.
func collect[T any](ctx context.Context, on querier, scan func(*sql.Rows) (T, error), statement string,
	args ...any) (all []T, err error) {
	rows, err := on.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// parameters returns the expressions of the parameters and of their length. Oversized parameters
// are not read: 100 records of 10 MB would take a gigabyte.
func (s reader) parameters() string {
	const length = "COALESCE(OCTET_LENGTH({parameters text}), 0)"
	return fmt.Sprintf("CASE WHEN %s <= %d THEN {parameters text} END, %[1]s", length, s.maxBytes)
}

// selection returns the template of the SELECT for scan.
func (s reader) selection(l *layout) string {
	created := "NULL"
	if column, has := l.optional["created"]; has {
		created = s.kind.Age(column)
	}
	return "SELECT " + l.idText() + ", COALESCE({report text}, ''), " + s.parameters() +
		", {status text}, COALESCE({attempt}, 0), COALESCE({file text}, ''), {error text}, " + s.kind.Age("{updated}") +
		", CAST({rows} AS {integer}), " + created + ", {lane text}, " + l.text(s.kind, "owner") + ", " +
		l.text(s.kind, "tenant") + " FROM {table}"
}

// text returns the expression of an optional column; NULL if the table does not have it.
func (l *layout) text(k *Kind, name string) string {
	if column, has := l.optional[name]; has {
		return k.Text(column)
	}
	return "NULL"
}

// idText returns the expression of an id. It has the order of the column.
func (l *layout) idText() string {
	if l.id.Of == Integer || l.id.Folded {
		return "{id}"
	}
	return "{id text}"
}

func (s reader) scan(rows *sql.Rows) (engine.Record, error) {
	var r engine.Record
	var status, reason, lane, owner, tenant sql.NullString
	var age, made, created sql.NullInt64
	var length int64
	if err := rows.Scan(&r.ID, &r.Report, &r.Parameters, &length, &status, &r.Attempt, &r.File, &reason, &age, &made,
		&created, &lane, &owner, &tenant); err != nil {
		return r, err
	}
	r.Lane, r.Owner, r.Tenant = lane.String, owner.String, tenant.String
	if length > s.maxBytes {
		r.Unread = fmt.Errorf("parameters: %d bytes, and limits.parameter_bytes is %d: raise it, or put long lists into a "+
			"table that the queries read", length, s.maxBytes)
	}
	r.Status, r.Error, r.Age = s.status(status.String), reason.String, ancient
	if age.Valid && age.Int64 < ancient.Microseconds() {
		// A row from the future: the column rounds, or a clock is ahead.
		r.Age = time.Duration(max(0, age.Int64)) * time.Microsecond
	}
	if created.Valid && created.Int64 < ancient.Microseconds() {
		r.Created = time.Duration(max(1, created.Int64)) * time.Microsecond
	}
	if made.Valid && r.Status.HasFile() {
		r.Rows = &made.Int64
	}
	return r, nil
}

// one returns the row with exactly this id.
func (s reader) one(ctx context.Context, id string) (engine.Record, error) {
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

// Startable returns the records of all partitions that a pass must check, like recovery.Records, in
// one SELECT. With an index on status and id, as in Fanfold's own table, it reads only the rows of
// the page; without one the server walks over the ids and reads the table once for all pages of a
// pass.
func (s candidates) Startable(ctx context.Context, after string, grace time.Duration, n int) ([]engine.Record, error) {
	l, err := s.known(ctx)
	if err != nil {
		return nil, err
	}
	query, args := s.startableQuery(l, s.selection(l), after, grace, n)
	return s.records(ctx, query, args...)
}

// startableQuery returns the template of a SELECT, whose first column is the id, for a page.
func (s candidates) startableQuery(l *layout, selection, after string, grace time.Duration,
	n int) (query string, args []any) {
	limit := " LIMIT " + strconv.Itoa(max(0, n))
	var pages []string
	for _, status := range running {
		where, more := s.startable(l, status, grace)
		if arg, ok := l.argument(after); ok && after != "" {
			where, more = where+" AND {id} > ?", append(more, arg)
		}
		pages = append(pages, "("+selection+" WHERE "+where+" ORDER BY {id}"+limit+")")
		args = append(args, more...)
	}
	return strings.Join(pages, " UNION ALL ") + " ORDER BY 1" + limit, args
}

// startable returns the condition for records of a status that have not changed within the grace
// time.
func (s candidates) startable(l *layout, status report.Status, grace time.Duration) (where string, args []any) {
	return "{status} = ? AND ({updated} IS NULL OR {updated} <= {ago}){filter}", []any{l.statuses[status],
		grace.Microseconds()}
}
