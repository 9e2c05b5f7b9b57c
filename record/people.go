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
)

// ErrNoIndex is returned if finding a person's records would read the whole table.
var ErrNoIndex = errors.New("no index begins with the person's column")

// People finds out who owns records. It is safe for concurrent use. Without a column of the owner, nobody does.
type People struct{ s *Store }

// People returns the People of the table. It does no I/O.
func (s *Store) People() People { return People{s} }

// Of returns the owner of a record; empty: none. It returns engine.ErrNoRecord if the record does
// not exist.
func (p People) Of(ctx context.Context, id string) (string, error) {
	l, err := p.s.known(ctx)
	if err != nil {
		return "", err
	}
	arg, ok := l.argument(id)
	if !ok {
		return "", engine.ErrNoRecord
	}
	var person sql.NullString
	query := p.s.sql("SELECT " + l.text(p.s.kind, "owner") + " FROM {table} WHERE {id} = ?{filter}")
	err = p.s.db.QueryRowContext(ctx, query, arg).Scan(&person)
	if errors.Is(err, sql.ErrNoRows) {
		return "", engine.ErrNoRecord
	} else if err != nil {
		return "", fmt.Errorf("person: %w", err)
	}
	return person.String, nil
}

// Exports returns those of a person's newest n records that have a file. It returns ErrNoIndex if
// no index begins with the column.
func (p People) Exports(ctx context.Context, person string, n int) ([]engine.Record, error) {
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
	// The second condition is for collations that treat two persons as equal.
	same := strings.ReplaceAll(" WHERE {person} = ? AND "+p.s.kind.Words["same"], "{person}", column)
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

// plain returns the name of the column of the owner.
func (p People) plain() string { return cmp.Or(p.s.plain["owner"], p.s.found["owner"]) }
