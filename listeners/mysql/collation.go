package mysql

import (
	"context"
	"database/sql"
	"errors"
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
	found, err := s.collations.Get(ctx, "SELECT "+wanted.String()+" FROM ("+strings.TrimRight(text, "; \t\r\n")+
		"\n) AS fanfold WHERE 1 = 0")
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

// collate gives the columns of texts their collations. A query that the server does not take as a derived table,
// such as with SQL_NO_CACHE, or with 0 for a parameter, has none: its texts compare by their bytes.
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
	if _, answered := errors.AsType[*mysql.MySQLError](err); answered && !mysqldb.Away(err) {
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
