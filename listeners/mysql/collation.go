package mysql

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// A collation that an ALTER TABLE has changed is known after this time.
const (
	collationsAge = time.Minute
	maxCollations = 1000 // queries
)

// collationsOf returns the collations of columns of a listener's query; "binary" for numbers and times. The server
// derives them without running the query.
func (s *Source) collationsOf(ctx context.Context, l *report.Listener, columns []string) ([]string, error) {
	// No row is read, so any value will do; NULL is an error in LIMIT.
	text, _, err := dialect.QueryOf(l).Bind(func(string) (any, bool) { return dialect.Literals("0"), true })
	if err != nil {
		return nil, listeners.Permanent(err)
	}
	var wanted strings.Builder
	for i, column := range columns {
		if i > 0 {
			wanted.WriteString(", ")
		}
		wanted.WriteString("COLLATION(MAX(`" + strings.ReplaceAll(column, "`", "``") + "`))")
	}
	// Without rows, the aggregates still have one.
	text = derivable(strings.TrimRight(text, "; \t\r\n"))
	found, err := s.collations.Get(ctx, "SELECT "+wanted.String()+" FROM ("+text+"\n) AS fanfold WHERE 1 = 0")
	if err != nil {
		return nil, explain(ctx, l, err)
	}
	return found, nil
}

// askCollations runs a query of one row.
func (s *Source) askCollations(ctx context.Context, query string) ([]string, error) {
	tx, err := s.calls.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }()
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	found, targets := make([]string, len(names)), make([]any, len(names))
	for i := range found {
		targets[i] = &found[i]
	}
	if rows.Next() {
		err = rows.Scan(targets...)
	}
	return found, errors.Join(err, rows.Err())
}

// passing are errors of a server that the next try may not have: of locks, limits of time and connections, memory and
// disks.
var passing = []uint16{
	1021, 1028, 1030, 1037, 1038, 1040, 1041, 1114, 1203, 1205, 1213, 1226, 1317, 1969, 3024,
}

// isUnderivable tells whether every try to ask for the collations of a query has this error: a server refuses some
// queries as a derived table, or with 0 for a parameter. Other errors could give the file of the next try other bytes.
func isUnderivable(err error) bool {
	server, answered := errors.AsType[*mysql.MySQLError](err)
	return answered && !mysqldb.Away(err) && !slices.Contains(passing, server.Number)
}

// modifiers are those of a SELECT that change no collation, and that a derived table must not have.
var modifiers = regexp.MustCompile(`(?i)^(\s*SELECT(?:\s+(?:ALL|DISTINCT|DISTINCTROW|STRAIGHT_JOIN|SQL_SMALL_RESULT|` +
	`SQL_BIG_RESULT))*)\s+(?:HIGH_PRIORITY|SQL_(?:NO_)?CACHE|SQL_CALC_FOUND_ROWS|SQL_BUFFER_RESULT)(\s)`)

// derivable returns a query without the options that keep it from being a derived table.
func derivable(query string) string {
	for modifiers.MatchString(query) {
		query = modifiers.ReplaceAllString(query, "$1$2")
	}
	return query
}

// collate gives the columns of texts their collations. A query that the server does not take as a derived table, or
// with 0 for a parameter, has none: its texts compare by their bytes.
func (s *Source) collate(ctx context.Context, l *report.Listener, columns []dataset.Column) error {
	var names []string
	for _, c := range columns {
		if c.Kind == report.KindText || c.Kind == report.KindJSON {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	found, err := s.collationsOf(ctx, l, names)
	if isUnderivable(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for i := range columns {
		if len(names) > 0 && columns[i].Name == names[0] {
			if columns[i].Collation = found[0]; found[0] == "binary" {
				columns[i].Collation = ""
			}
			names, found = names[1:], found[1:]
		}
	}
	return nil
}
