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

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/mysqldb"
)

const (
	statementTimeout = 20 * time.Second
	maxColumns       = 20_000 // that are read from a database
)

// table is a table or a view.
type table struct {
	of      *source
	Name    string
	columns []*column
}

// column is a column of a table.
type column struct {
	Name    string
	kind    string // such as bigint
	Indexed bool   // it is the first column of an index
	Unique  bool   // a unique index has only this column
}

// Database returns the name of its database.
func (t *table) Database() string { return t.of.Name }

// find returns the column with a name, or nil.
func (t *table) find(name string) *column {
	if i := slices.IndexFunc(t.columns, func(c *column) bool { return strings.EqualFold(c.Name, name) }); i >= 0 {
		return t.columns[i]
	}
	return nil
}

// reading runs a function in a read-only transaction. Its error has a remedy.
func (s *source) reading(ctx context.Context, read func(context.Context, *sql.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err == nil {
		defer tx.Rollback()
		err = read(ctx, tx)
	}
	remedy := ""
	switch {
	case err == nil:
		return nil
	case mysqldb.Refused(err):
		remedy = "\nThe server refuses this login or schema: correct the address, or put the password into the environment variable " + s.variable +
			".\nAn account without a name takes precedence for local connections: see SELECT user, host FROM mysql.user WHERE user = '', and remove it, such as DROP USER ''@'localhost'"
	case mysqldb.Away(err):
		remedy = "\nNo answer from the server: check the host and port of the address, and that the server runs"
	}
	err = fmt.Errorf("--database %s: %w%s", s.Name, err, remedy)
	if remedy != "" {
		return fault.Unreachable.Of(err)
	}
	return err
}

// readTables reads the tables of a database, their columns and their indexes.
func (s *source) readTables(ctx context.Context) error {
	return s.reading(ctx, func(ctx context.Context, tx *sql.Tx) error {
		byName := map[string]*table{}
		var name, other string
		c := &column{}
		err := each(ctx, tx, fmt.Sprintf(`SELECT TABLE_NAME, COLUMN_NAME, LOWER(DATA_TYPE) FROM information_schema.COLUMNS
			WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME, ORDINAL_POSITION LIMIT %d`, maxColumns), func() {
			if byName[name] == nil {
				byName[name] = &table{of: s, Name: name}
				if plain(name) && !internalName.MatchString(name) {
					s.Tables = append(s.Tables, byName[name])
				}
			}
			if t, made := byName[name], *c; plain(c.Name) {
				t.columns = append(t.columns, &made)
			}
		}, &name, &c.Name, &c.kind)
		if err != nil {
			return err
		}
		var alone bool
		return each(ctx, tx, `SELECT TABLE_NAME, COALESCE(MAX(CASE WHEN SEQ_IN_INDEX = 1 THEN COLUMN_NAME END), ''),
				MIN(NON_UNIQUE) = 0 AND MAX(SEQ_IN_INDEX) = 1
			FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE()
			GROUP BY TABLE_NAME, INDEX_NAME`, func() {
			if t := byName[name]; t != nil && t.find(other) != nil {
				first := t.find(other)
				first.Indexed, first.Unique = true, first.Unique || alone
			}
		}, &name, &other, &alone)
	})
}

// each scans every row of a query into variables and then calls a function.
func each(ctx context.Context, tx *sql.Tx, query string, do func(), into ...any) error {
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		do()
	}
	return rows.Err()
}

// plain reports whether a name can be used in a query and as the column of a listener.
func plain(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return strings.ContainsRune("#`\uFFFD", r) || !unicode.IsPrint(r)
	})
}

// internalName matches tables of Fanfold and of migration tools, which have no data to report.
var internalName = regexp.MustCompile(`(?i)^fanfold_|_migrations$`)
