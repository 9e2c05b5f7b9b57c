package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

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
func (s *Store) People(column string) *People { return &People{s, column, s.kind.Quote(column)} }

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
	indexed, err := p.s.kind.HasIndex(ctx, p.s.db.DB, p.s.names, p.plain)
	if err != nil {
		return nil, fmt.Errorf("indexes: %w", err)
	}
	if !indexed {
		return nil, fmt.Errorf("%w: %s of %s", ErrNoIndex, p.plain, p.s.table)
	}
	// The second condition is for collations that treat two persons as equal.
	same := strings.ReplaceAll(" WHERE {person} = ? AND "+p.s.kind.Words["same"], "{person}", p.quoted)
	found, err := p.s.records(ctx, p.s.selection(l)+same+"{filter} ORDER BY {id} DESC LIMIT "+strconv.Itoa(n),
		person, person)
	if p.s.kind.Is(err, Unreadable) { // a text, and the column has numbers
		return nil, nil
	} else if err != nil {
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
