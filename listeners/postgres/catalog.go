package postgres

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// catalog has what was asked of the types and collations of a database. It is safe for concurrent use.
type catalog struct {
	mu      sync.Mutex
	at      time.Time // when the first answer was asked
	types   map[uint32]valueType
	unequal []string // collations by which texts can be equal that have other bytes
	known   bool     // unequal is
}

// A type or a collation that an ALTER has changed is known after this time.
const catalogAge = time.Minute

// fresh locks the catalog, without answers that are too old.
func (c *catalog) fresh() {
	c.mu.Lock()
	if c.types == nil || time.Since(c.at) > catalogAge {
		c.at, c.types, c.unequal, c.known = time.Now(), map[uint32]valueType{}, nil, false
	}
}

// ask runs a short query in the transaction, with arguments that are all NULL, and returns its rows as texts. Another
// connection would be one more than the server may allow. The server then has forgotten the unnamed statement.
func (s *session) ask(ctx context.Context, query string, args int) ([][]string, error) {
	s.asked = true
	return texts(s.conn.ExecParams(ctx, query, make([][]byte, args), nil, nil, nil).Read())
}

func texts(result *pgconn.Result) (all [][]string, err error) {
	for _, row := range result.Rows {
		texts := make([]string, len(row))
		for i, v := range row {
			texts[i] = string(v)
		}
		all = append(all, texts)
	}
	return all, result.Err
}

// typeOf returns the kind of a type by its number.
func (s *session) typeOf(ctx context.Context, oid uint32) (valueType, error) {
	if of, known := kinds[oid]; known || oid < firstOwn {
		return cmp.Or(of, valueType{kind: report.KindText}), nil
	}
	s.catalog.fresh()
	of, known := s.catalog.types[oid]
	s.catalog.mu.Unlock()
	if known {
		return of, nil
	}
	found, err := s.ask(ctx, "SELECT t.typname, CASE WHEN t.typcategory = 'A' AND t.typdelim = ',' "+
		"THEN COALESCE(NULLIF(e.typbasetype, 0), e.oid) ELSE 0 END FROM pg_catalog.pg_type t "+
		"LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem WHERE t.oid = "+strconv.FormatUint(uint64(oid), 10), 0)
	if err != nil {
		return of, err
	}
	of.kind = report.KindText
	if len(found) > 0 {
		if element, err := strconv.ParseUint(found[0][1], 10, 32); err == nil && element > 0 {
			of = arrayOf(uint32(element))
		} else if name := found[0][0]; name == "citext" {
			of.name = name
		}
	}
	s.catalog.fresh()
	s.catalog.types[oid] = of
	s.catalog.mu.Unlock()
	return of, nil
}

// unequal returns the collations of the database by which texts can be equal that have other bytes.
func (s *session) unequal(ctx context.Context) (names []string, err error) {
	s.catalog.fresh()
	names, known := s.catalog.unequal, s.catalog.known
	s.catalog.mu.Unlock()
	if known {
		return names, nil
	}
	found, err := s.ask(ctx, "SELECT collname FROM pg_catalog.pg_collation WHERE NOT collisdeterministic", 0)
	if err != nil {
		return nil, err
	}
	for _, row := range found {
		names = append(names, row[0])
	}
	s.catalog.fresh()
	s.catalog.unequal, s.catalog.known = names, true
	s.catalog.mu.Unlock()
	return names, nil
}

// collate gives columns of texts the collations by which texts with other bytes can be equal, if the database has any.
// Fanfold does not know them, so that a fold refuses to compare these columns. The server derives the collations
// without running the query, which has this number of arguments.
func (s *session) collate(ctx context.Context, text string, args int, columns []dataset.Column) error {
	unequal, err := s.unequal(ctx)
	if err != nil || len(unequal) == 0 {
		return err
	}
	var list []string
	var at []int
	for i, c := range columns {
		if c.Collation == byBytes && c.Kind == report.KindText {
			list = append(list, "pg_catalog.pg_collation_for(max(q."+quoted(c.Name)+"::text))")
			at = append(at, i)
		}
	}
	if len(list) == 0 {
		return nil
	}
	found, err := s.ask(ctx, "SELECT "+strings.Join(list, ", ")+" FROM ("+dialect.Unended(dialect.Postgres, text)+
		"\n) AS q WHERE false", args)
	if err != nil || len(found) == 0 {
		return err
	}
	for n, i := range at {
		for _, name := range unequal {
			_, own, qualified := strings.Cut(found[0][n], ".")
			if !qualified {
				own = found[0][n]
			}
			if own == name || own == quoted(name) {
				columns[i].Collation = name
			}
		}
	}
	return nil
}

// quoted returns a name in double quotes.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// ask runs a short query outside of a task, and returns its rows as texts.
func (p *pool) ask(ctx context.Context, query string) (all [][]string, err error) {
	conn, err := p.reach(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { p.release(conn, err) }()
	return texts(conn.ExecParams(ctx, query, nil, nil, nil, nil).Read())
}

// reach takes a connection for short queries.
func (p *pool) reach(ctx context.Context) (*pgconn.PgConn, error) {
	ctx, cancel := context.WithTimeout(ctx, shortTimeout)
	defer cancel()
	for {
		conn, reused, err := p.take(ctx)
		if err != nil || !reused {
			return conn, err
		}
		if err = conn.Ping(ctx); err == nil {
			return conn, nil
		}
		p.drop(conn)
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
