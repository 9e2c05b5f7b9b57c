package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/internal/fault"
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
	found, err := s.collations.Get(ctx, "SELECT "+wanted.String()+derived(text))
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

// refusing are errors without a class of their own by which a server refuses a query as a derived table, or 0 for a
// parameter: wrong arguments, a wrong use of a word, and texts, types, datetimes, places and regular expressions that
// do not fit.
var refusing = []uint16{
	1210, 1221, 1267, 1270, 1271, 1411, 1525, 3033, 3064, 4078, 4079,
	3685, 3686, 3688, 3689, 3690, 3691, 3692, 3693, 3694, 3695, 3696, 3697,
}

// limiting are errors of the class of syntax errors that the next try may not have: of limits and grants, and of a
// table, column or function that is missing while somebody replaces it.
var limiting = []uint16{1044, 1049, 1054, 1104, 1142, 1143, 1146, 1203, 1226, 1227, 1305, 1370, 1461}

// isUnderivable tells whether every try to ask for the collations of a query has this error, because it is one of the
// question: of its syntax, its values or its types. Any other could give the file of the next try other bytes.
func isUnderivable(err error) bool {
	server, answered := errors.AsType[*mysql.MySQLError](err)
	if !answered {
		return false
	}
	switch string(server.SQLState[:2]) {
	case "21", "22", "45": // rows, values, and what a stored function signals
		return true
	case "42": // syntax
		return !slices.Contains(limiting, server.Number)
	}
	return slices.Contains(refusing, server.Number)
}

// derived returns the part of a SELECT that reads a query without running it.
func derived(query string) string {
	return " FROM (" + derivable(strings.TrimRight(query, "; \t\r\n")) + "\n) AS fanfold WHERE 1 = 0"
}

// derivable returns a query without the words that change no collation, and that a derived table must not have.
func derivable(query string) string {
	return dialect.MySQL.Without(query, "HIGH_PRIORITY", "SQL_CACHE", "SQL_NO_CACHE", "SQL_CALC_FOUND_ROWS",
		"SQL_BUFFER_RESULT")
}

// collate gives the columns of texts their collations. A query that the server does not take as a derived table, or
// with 0 for a parameter, has none, and an error of the kind fault.Underivable: its texts compare by their bytes.
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
		return fault.Underivable.Of(fmt.Errorf("the texts of %s have no collation: %w", report.Listing(names), err))
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
