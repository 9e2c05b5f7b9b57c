package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/fanfold/fanfold/engine"
)

// ErrNoIndex is returned if finding a person's records would read the whole table.
var ErrNoIndex = errors.New("no index begins with the person's column")

// People finds out who owns records, by a column of the table. It is safe for concurrent use.
type People struct {
	s             *Store
	plain, quoted string
}

// People returns the People of a column, which Fanfold never writes. It does no I/O.
func (s *Store) People(column string) *People { return &People{s, column, quote(column)} }

// Of returns the owner of a record; empty: none. It returns engine.ErrNoRecord if the record does
// not exist.
func (p *People) Of(ctx context.Context, id string) (string, error) {
	l, err := p.s.known(ctx)
	if err != nil {
		return "", err
	}
	arg, ok := l.argument(id)
	if !ok {
		return "", engine.ErrNoRecord
	}
	var person sql.NullString
	err = p.s.db.QueryRowContext(ctx, p.s.sql("SELECT "+p.quoted+" FROM {table} WHERE {id} = ?{filter}"),
		arg).Scan(&person)
	if errors.Is(err, sql.ErrNoRows) {
		return "", engine.ErrNoRecord
	} else if err != nil {
		return "", fmt.Errorf("person: %w", err)
	}
	return person.String, nil
}

// Exports returns those of a person's newest n records that have a file. It returns ErrNoIndex if
// no index begins with the column.
func (p *People) Exports(ctx context.Context, person string, n int) ([]engine.Record, error) {
	l, err := p.s.known(ctx)
	if err != nil {
		return nil, err
	}
	var indexes int
	if err := p.s.db.QueryRowContext(ctx, `SELECT COUNT(*) FROM information_schema.statistics
		WHERE table_schema = COALESCE(NULLIF(?, ''), DATABASE()) AND table_name = ?
		AND column_name = ? AND seq_in_index = 1`,
		p.s.names.schema, p.s.names.table, p.plain).Scan(&indexes); err != nil {
		return nil, fmt.Errorf("indexes: %w", err)
	}
	if indexes == 0 {
		return nil, fmt.Errorf("%w: %s of %s", ErrNoIndex, p.plain, p.s.table)
	}
	// The second condition is for collations that treat two persons as equal.
	found, err := p.s.records(ctx, p.s.selection(l)+p.s.sql(" WHERE "+p.quoted+" = ? AND CAST("+p.quoted+
		" AS BINARY) = CAST(? AS BINARY){filter} ORDER BY {id} DESC LIMIT "+strconv.Itoa(n)), person, person)
	if err != nil {
		return nil, err
	}
	var exports []engine.Record
	for _, r := range found {
		if r.Status.HasFile() {
			exports = append(exports, r)
		}
	}
	return exports, nil
}
