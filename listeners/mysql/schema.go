package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/mysqldb"
)

// initAddress reads mysql://user@host:port/schema, or a DSN with a schema.
func initAddress(address string) (dsn string, ok bool, err error) {
	scheme, rest, isURL := strings.Cut(address, "://")
	if dsn = address; isURL {
		if scheme != "mysql" && scheme != "mariadb" {
			return "", false, nil
		}
		user, host, _ := strings.Cut(rest, "@")
		host, schema, _ := strings.Cut(host, "/")
		if host == "" {
			return "", true, errors.New("no host")
		}
		if user, err = url.PathUnescape(user); err != nil {
			return "", true, errors.New("the user is not valid in a URL")
		}
		if _, _, err := net.SplitHostPort(host); err != nil {
			host += ":3306"
		}
		dsn = user + "@tcp(" + host + ")/" + schema
	}
	if before, _, _ := strings.Cut(dsn, "?"); strings.HasSuffix(before, "/") {
		return "", true, errors.New("no schema")
	}
	return dsn, true, nil
}

func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

const maxColumns = 20_000 // that init reads from a database

// Tables returns the tables and views of the schema, for fanfold init.
func (s *Source) Tables(ctx context.Context) (all []kind.Table, err error) {
	tx, err := s.calls.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, explainInit(err)
	}
	defer func() { _ = tx.Rollback() }()
	byName := map[string]int{}
	var name, other, of string
	err = each(ctx, tx, fmt.Sprintf(`SELECT TABLE_NAME, COLUMN_NAME, LOWER(DATA_TYPE) FROM information_schema.COLUMNS
		WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME, ORDINAL_POSITION LIMIT %d`, maxColumns), func() {
		if n := len(all); n == 0 || all[n-1].Name != name {
			byName[name], all = n, append(all, kind.Table{Name: name, Text: quote(name)})
		}
		t := &all[len(all)-1]
		t.Columns = append(t.Columns, kind.Column{Name: other, Role: RoleOf(of)})
	}, &name, &other, &of)
	if err != nil {
		return nil, explainInit(err)
	}
	var alone bool
	err = each(ctx, tx, `SELECT TABLE_NAME, COALESCE(MAX(CASE WHEN SEQ_IN_INDEX = 1 THEN COLUMN_NAME END), ''),
			MIN(NON_UNIQUE) = 0 AND MAX(SEQ_IN_INDEX) = 1
		FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE()
		GROUP BY TABLE_NAME, INDEX_NAME`, func() {
		at, known := byName[name]
		for i := 0; known && i < len(all[at].Columns); i++ {
			if c := &all[at].Columns[i]; strings.EqualFold(c.Name, other) {
				c.Indexed, c.Unique = true, c.Unique || alone
			}
		}
	}, &name, &other, &alone)
	return all, explainInit(err)
}

// Newest returns the latest value of a column, for fanfold init.
func (s *Source) Newest(ctx context.Context, t kind.Table, column string) (newest string, err error) {
	tx, err := s.calls.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return "", explainInit(err)
	}
	defer func() { _ = tx.Rollback() }()
	err = tx.QueryRowContext(ctx, "SELECT COALESCE(MAX("+quote(column)+"), '') FROM "+t.Text).Scan(&newest)
	return newest, explainInit(err)
}

// explainInit gives an error its kind, and a refused login what helps.
func explainInit(err error) error {
	switch {
	case mysqldb.Refused(err):
		return fault.Login.New("%w\nAn account without a name takes precedence for local connections: see SELECT user, host FROM mysql.user WHERE user = '', and remove it, such as DROP USER ''@'localhost'", err)
	case mysqldb.Away(err):
		return fault.Unreachable.Of(err)
	}
	return err
}

var (
	integerType = regexp.MustCompile(`int$`)
	shortType   = regexp.MustCompile(`^(var)?char$`)
	dayType     = regexp.MustCompile(`^(date|datetime|timestamp)$`)
	longType    = regexp.MustCompile(`blob|binary|text|json|geometry|point|polygon|linestring|collection|bit|vector|inet`)
)

// RoleOf returns what a column of a type can be in a first report.
func RoleOf(name string) kind.Role {
	switch {
	case longType.MatchString(name):
		return kind.Long
	case integerType.MatchString(name):
		return kind.Integer
	case shortType.MatchString(name):
		return kind.Text
	case dayType.MatchString(name):
		return kind.Day
	}
	return kind.Shown
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
