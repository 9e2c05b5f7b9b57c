package starter

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/fanfold/fanfold/internal/mysqldb"
)

const (
	statementTimeout = 20 * time.Second
	maxColumns       = 20_000 // that are read from a database
)

// table is a table or a view.
type table struct {
	of      *source
	name    string
	columns []*column
	rows    bool // it has rows, by the estimate of the server
}

// column is a column of a table.
type column struct {
	name    string
	kind    string // such as bigint
	whole   string // the full type, such as enum('a','b')
	indexed bool   // it is the first column of an index
	unique  bool   // a unique index has only this column
}

// find returns the column with a name, or nil.
func (t *table) find(name string) *column {
	for _, c := range t.columns {
		if strings.EqualFold(c.name, name) {
			return c
		}
	}
	return nil
}

// open makes the connections of a database. It does no I/O.
func (s *source) open() (*sql.DB, error) {
	db, err := mysqldb.Connect(s.database(), 1, statementTimeout)
	if err != nil {
		return nil, fmt.Errorf("--database %s: %w", s.name, err)
	}
	return db, nil
}

// reading runs a function in a read-only transaction.
func reading(ctx context.Context, db *sql.DB, read func(*sql.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	return read(tx)
}

// readTables reads the tables of a database, their columns and their indexes.
func (s *source) readTables(ctx context.Context, db *sql.DB) error {
	err := reading(ctx, db, func(tx *sql.Tx) error {
		byName := map[string]*table{}
		err := each(ctx, tx, fmt.Sprintf(`SELECT TABLE_NAME, COLUMN_NAME, DATA_TYPE, COLUMN_TYPE FROM information_schema.COLUMNS
			WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME, ORDINAL_POSITION LIMIT %d`, maxColumns), func(row []string) {
			t := byName[row[0]]
			if t == nil {
				t = &table{of: s, name: row[0]}
				byName[row[0]] = t
				s.tables = append(s.tables, t)
			}
			t.columns = append(t.columns, &column{name: row[1], kind: strings.ToLower(row[2]), whole: row[3]})
		})
		if err != nil {
			return err
		}
		err = each(ctx, tx, `SELECT TABLE_NAME, MAX(CASE WHEN SEQ_IN_INDEX = 1 THEN COLUMN_NAME END), MIN(NON_UNIQUE), MAX(SEQ_IN_INDEX)
			FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() GROUP BY TABLE_NAME, INDEX_NAME`, func(row []string) {
			if t := byName[row[0]]; t != nil && t.find(row[1]) != nil {
				c := t.find(row[1])
				c.indexed = true
				c.unique = c.unique || row[2] == "0" && row[3] == "1"
			}
		})
		if err != nil {
			return err
		}
		return each(ctx, tx, "SELECT TABLE_NAME, COALESCE(TABLE_ROWS, 0) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()", func(row []string) {
			if t := byName[row[0]]; t != nil {
				t.rows = row[1] != "0"
			}
		})
	})
	if err != nil {
		return s.explain(err)
	}
	s.tables = slices.DeleteFunc(s.tables, func(t *table) bool { return !plain(t.name) || isInternal(t.name) })
	for _, t := range s.tables {
		t.columns = slices.DeleteFunc(t.columns, func(c *column) bool { return !plain(c.name) })
	}
	return nil
}

// each calls a function with the values of every row, as text.
func each(ctx context.Context, tx *sql.Tx, query string, do func(row []string)) error {
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		cells, into := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		row := make([]string, len(names))
		for i, c := range cells {
			row[i] = c.String
		}
		do(row)
	}
	return rows.Err()
}

// plain reports whether a name can be used in a query and as the column of a listener.
func plain(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return r == '#' || r == '`' || r == unicode.ReplacementChar || !unicode.IsPrint(r) })
}

var internalName = regexp.MustCompile(`^fanfold_|_migrations$`)

// isInternal reports whether a table belongs to Fanfold or a migration tool, and has no data to report.
func isInternal(name string) bool { return internalName.MatchString(strings.ToLower(name)) }

// explain adds the remedy to the error of a server.
func (s *source) explain(err error) error {
	remedy := ""
	switch {
	case mysqldb.Refused(err) && s.variable == "":
		remedy = "\nThe server refuses this login or schema: correct the address, or put the password into the environment variable " + s.defaultVariable()
	case mysqldb.Refused(err):
		remedy = "\nThe server refuses this login or schema: correct the address, or the password in " + s.variable
	case mysqldb.Away(err):
		remedy = "\nNo answer from " + s.at + ": check its host and port, and that the server runs"
	}
	return fmt.Errorf("--database %s: %w%s", s.name, err, remedy)
}
