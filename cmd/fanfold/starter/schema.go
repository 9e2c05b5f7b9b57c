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

// patience is how long one statement may take, and maxColumns how many columns of a database
// are read.
const (
	patience   = 20 * time.Second
	maxColumns = 20_000
)

// table is a table or a view.
type table struct {
	of      *source
	name    string
	columns []*column
	rows    bool // it has some, as far as the server knows without counting
}

// column is a column of a table.
type column struct {
	name    string
	kind    string // such as bigint
	whole   string // such as enum('a','b')
	indexed bool   // it begins an index
	unique  bool   // it alone has a unique index
}

// find returns a column by its name, or nil.
func (t *table) find(name string) *column {
	for _, c := range t.columns {
		if strings.EqualFold(c.name, name) {
			return c
		}
	}
	return nil
}

// open connects to a database; nothing but reading is done there.
func (s *source) open() (*sql.DB, error) {
	db, err := mysqldb.Connect(s.database(), 1, patience)
	if err != nil {
		return nil, fmt.Errorf("--database %s: %w", s.name, err)
	}
	return db, nil
}

// reading runs a function in a transaction that is read only.
func reading(ctx context.Context, db *sql.DB, read func(*sql.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	return read(tx)
}

// look reads what tables a database has.
func (s *source) look(ctx context.Context, db *sql.DB) error {
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
	s.tables = slices.DeleteFunc(s.tables, func(t *table) bool { return !plain(t.name) || ours(t.name) })
	for _, t := range s.tables {
		t.columns = slices.DeleteFunc(t.columns, func(c *column) bool { return !plain(c.name) })
	}
	return nil
}

// each calls a function with the texts of every row.
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

// plain tells whether a name can stand in a query and be that of a column of a listener.
func plain(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return r == '#' || r == '`' || r == unicode.ReplacementChar || !unicode.IsPrint(r) })
}

var oursForm = regexp.MustCompile(`^fanfold_|_migrations$`)

// ours tells whether a table is one beside the records.
func ours(name string) bool { return oursForm.MatchString(strings.ToLower(name)) }

// explain says what helps against the error of a server.
func (s *source) explain(err error) error {
	remedy := ""
	switch {
	case mysqldb.Refused(err) && s.variable == "":
		remedy = "\nThe server refuses this login or schema: correct the address, or put the password into the environment variable " + s.usual()
	case mysqldb.Refused(err):
		remedy = "\nThe server refuses this login or schema: correct the address, or the password in " + s.variable
	case mysqldb.Away(err):
		remedy = "\nNo answer from " + s.at + ": check that the server runs, and its host and port"
	}
	return fmt.Errorf("--database %s: %w%s", s.name, err, remedy)
}
