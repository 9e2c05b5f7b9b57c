package mysql

import (
	"context"
	"database/sql"
	"strings"

	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// Collations returns the collations of columns of a listener's query: empty for those that compare
// bytes, as numbers and times do. It also names a collation that compares bytes, for people. The server
// derives them without running the query.
func (s *Source) Collations(ctx context.Context, l *report.Listener, columns []string) ([]string, string, error) {
	// No row is read, so any value will do; NULL is an error in LIMIT.
	text, args, err := dialect.QueryOf(l).Bind(func(string) (any, bool) { return int64(0), true })
	if err != nil {
		return nil, "", listeners.Permanent(err)
	}
	collations := make([]string, len(columns))
	wanted, targets := make([]string, len(columns)), make([]any, len(columns))
	for i, column := range columns {
		wanted[i], targets[i] = "COLLATION(MAX(`"+strings.ReplaceAll(column, "`", "``")+"`))", &collations[i]
	}
	text = strings.TrimRight(text, "; \t\r\n")
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, "", explainLogin(ctx, l, err)
	}
	defer conn.Close()
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, "", explain(ctx, l, err)
	}
	defer func() { _ = tx.Rollback() }()
	// Without rows, the aggregates still have one.
	none := "SELECT " + strings.Join(wanted, ", ") + " FROM (" + text + "\n) AS fanfold WHERE 1 = 0"
	if err := tx.QueryRowContext(ctx, none, args...).Scan(targets...); err != nil {
		return nil, "", explain(ctx, l, err)
	}
	binary := "utf8mb4_nopad_bin (MariaDB) or utf8mb4_0900_bin (MySQL)"
	for i, collation := range collations {
		switch {
		case comparesBytes(collation):
			collations[i] = ""
		case strings.Contains(collation, "_0900_"): // only MySQL has these
			binary = "utf8mb4_0900_bin"
		}
	}
	return collations, binary, nil
}

// comparesBytes tells whether texts are equal in a collation only if their bytes are: it ignores neither
// case nor accents, nor spaces at the end.
func comparesBytes(collation string) bool {
	return collation == "binary" || strings.HasSuffix(collation, "_nopad_bin") || collation == "utf8mb4_0900_bin"
}
