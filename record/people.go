package record

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
)

// ErrNoIndex is returned if finding a person's records would read the whole table.
var ErrNoIndex = errors.New("no index begins with the person's column")

// People finds out who owns records. It is safe for concurrent use. Without a column of the owner, nobody does.
type People struct{ s *Store }

// People returns the People of the table. It does no I/O.
func (s *Store) People() People { return People{s} }

// Of returns the owner of a record and the owner's tenant; empty: none. It returns engine.ErrNoRecord if the record
// does not exist.
func (p People) Of(ctx context.Context, id string) (person, tenant string, err error) {
	l, err := p.s.known(ctx)
	if err != nil {
		return "", "", err
	}
	arg, ok := l.argument(id)
	if !ok {
		return "", "", engine.ErrNoRecord
	}
	var owner, of sql.NullString
	query := p.s.sql("SELECT " + l.text(p.s.kind, "owner") + ", " + l.text(p.s.kind, "tenant") +
		" FROM {table} WHERE {id} = ?{filter}")
	err = p.s.db.QueryRowContext(ctx, query, arg).Scan(&owner, &of)
	if errors.Is(err, sql.ErrNoRows) {
		return "", "", engine.ErrNoRecord
	} else if err != nil {
		return "", "", fmt.Errorf("person: %w", err)
	}
	return owner.String, of.String, nil
}

// Newest returns the newest n records of a person of a tenant; empty: a person without one. It returns ErrNoIndex if
// no index begins with the column of the owner.
func (p People) Newest(ctx context.Context, person, tenant string, n int) ([]engine.Record, error) {
	return p.list(ctx, person, tenant, n, false)
}

// Unfinished counts the records of a person of a tenant that are not final, up to n. Its errors are those of Newest.
func (p People) Unfinished(ctx context.Context, person, tenant string, n int) (int, error) {
	found, err := p.list(ctx, person, tenant, n, true)
	return len(found), err
}

func (p People) list(ctx context.Context, person, tenant string, n int, unfinished bool) ([]engine.Record, error) {
	l, err := p.s.known(ctx)
	if err != nil {
		return nil, err
	}
	column, has := l.optional["owner"]
	if !has {
		return nil, nil
	}
	indexed, err := p.s.kind.HasIndex(ctx, p.s.db.DB, p.s.names, p.plain())
	if err != nil {
		return nil, fmt.Errorf("indexes: %w", err)
	}
	if !indexed {
		return nil, fmt.Errorf("%w: %s of %s", ErrNoIndex, p.plain(), p.s.table)
	}
	// The first condition uses the index; the second is for collations that treat two persons as equal.
	same := func(column string) string { return strings.ReplaceAll(p.s.kind.Words["same"], "{person}", column) }
	where := " WHERE " + column + " = ? AND " + same(column) + " AND " +
		same("COALESCE("+l.text(p.s.kind, "tenant")+", '')")
	args := []any{person, person, tenant}
	if unfinished {
		where += " AND {status} IN (?, ?)"
		args = append(args, l.statuses[report.Pending], l.statuses[report.Processing])
	}
	found, err := p.s.records(ctx, p.s.selection(l)+where+"{filter} ORDER BY {id} DESC LIMIT "+strconv.Itoa(n), args...)
	if p.s.kind.Is(err, Unreadable) { // a text, and the column has numbers
		return nil, nil
	}
	return found, err
}

// plain returns the name of the column of the owner.
func (p People) plain() string { return cmp.Or(p.s.plain["owner"], p.s.found["owner"]) }
