package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// ask runs a short query with arguments that are all NULL, and returns its rows as texts.
func (s *Source) ask(ctx context.Context, query string, args int) (all [][]string, err error) {
	conn, err := s.reach(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { s.calls.release(conn, err) }()
	result := conn.ExecParams(ctx, query, make([][]byte, args), nil, nil, nil).Read()
	for _, row := range result.Rows {
		texts := make([]string, len(row))
		for i, v := range row {
			texts[i] = string(v)
		}
		all = append(all, texts)
	}
	return all, result.Err
}

// askType returns the kind of a type that is not the server's own, by its number.
func (s *Source) askType(ctx context.Context, oid uint32) (valueType, error) {
	found, err := s.ask(ctx, "SELECT t.typname, CASE WHEN t.typcategory = 'A' AND t.typdelim = ',' "+
		"THEN COALESCE(NULLIF(e.typbasetype, 0), e.oid) ELSE 0 END FROM pg_catalog.pg_type t "+
		"LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem WHERE t.oid = "+strconv.FormatUint(uint64(oid), 10), 0)
	of := valueType{kind: report.KindText}
	if err != nil || len(found) == 0 {
		return of, err
	}
	if element, err := strconv.ParseUint(found[0][1], 10, 32); err == nil && element > 0 {
		return arrayOf(uint32(element)), nil
	}
	if name := found[0][0]; name == "citext" {
		of.name = name
	}
	return of, nil
}

// askUnequal returns the collations of a database by which texts can be equal that have other bytes.
func (s *Source) askUnequal(ctx context.Context, _ struct{}) (names []string, err error) {
	found, err := s.ask(ctx, "SELECT collname FROM pg_catalog.pg_collation WHERE NOT collisdeterministic", 0)
	for _, row := range found {
		names = append(names, row[0])
	}
	return names, err
}

// askCollations returns the collations of the columns of a query, which the server derives without running it.
func (s *Source) askCollations(ctx context.Context, q derived) ([]string, error) {
	found, err := s.ask(ctx, q.text, q.args)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// derived is a query for the collations of another, which has this number of arguments.
type derived struct {
	text string
	args int
}

// collate gives columns of texts the collations by which texts with other bytes can be equal, if the database has any.
// Fanfold does not know them, so that a fold refuses to compare these columns.
func (s *Source) collate(
	ctx context.Context, l *report.Listener, text string, args int, columns []dataset.Column,
) error {
	unequal, err := s.unequal.Get(ctx, struct{}{})
	if err != nil {
		return explainLogin(ctx, l, err)
	}
	if len(unequal) == 0 {
		return nil
	}
	var list []string
	for _, c := range columns {
		if c.Collation == byBytes && c.Kind == report.KindText {
			list = append(list, "pg_catalog.pg_collation_for(max(q."+quoted(c.Name)+"::text))")
		}
	}
	if len(list) == 0 {
		return nil
	}
	found, err := s.collations.Get(ctx, derived{"SELECT " + strings.Join(list, ", ") + " FROM (" +
		strings.TrimRight(text, "; \t\r\n") + "\n) AS q WHERE false", args})
	if err != nil {
		return explain(ctx, l, err)
	}
	for i, n := 0, 0; i < len(columns) && n < len(found); i++ {
		if columns[i].Collation != byBytes || columns[i].Kind != report.KindText {
			continue
		}
		for _, name := range unequal {
			if found[n] == quoted(name) || strings.HasSuffix(found[n], "."+quoted(name)) ||
				found[n] == name || strings.HasSuffix(found[n], "."+name) {
				columns[i].Collation = name
			}
		}
		n++
	}
	return nil
}

// quoted returns a name in double quotes.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// reach takes the connection for short queries.
func (s *Source) reach(ctx context.Context) (*pgconn.PgConn, error) {
	ctx, cancel := context.WithTimeout(ctx, shortTimeout)
	defer cancel()
	for {
		conn, reused, err := s.calls.take(ctx)
		if err != nil || !reused {
			return conn, err
		}
		if err = conn.Ping(ctx); err == nil {
			return conn, nil
		}
		s.calls.drop(conn)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("no answer: %w", ctx.Err())
		}
	}
}

// release gives a connection back, or closes it after an error.
func (p *pool) release(conn *pgconn.PgConn, err error) {
	if err != nil || conn.IsClosed() || conn.TxStatus() != 'I' {
		p.drop(conn)
		return
	}
	p.give(conn)
}

var _ listeners.Connection = (*Source)(nil)
