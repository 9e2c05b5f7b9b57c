package postgres

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/internal/fault"
)

// initAddress reads an address on the command line, which is a DSN.
func initAddress(address string) (dsn string, ok bool, err error) {
	scheme, _, isURL := strings.Cut(address, "://")
	return address, isURL && slices.Contains(schemes, scheme), nil
}

const maxColumns = 20_000 // that init reads from a database

// tablesQuery has a row for every column of the tables and views that the account can read. A table outside of the
// search path has the name of its schema before its own.
const tablesQuery = `SELECT CASE WHEN pg_table_is_visible(c.oid) THEN '' ELSE n.nspname END, c.relname, a.attname,
	COALESCE(b.typname, t.typname),
	EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indkey[0] = a.attnum),
	EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indkey[0] = a.attnum AND i.indisunique AND
		i.indnkeyatts = 1 AND i.indpred IS NULL)
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
	JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = NULLIF(t.typbasetype, 0)
	WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped
	AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\_%'
	AND has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
	AND has_column_privilege(c.oid, a.attnum, 'SELECT')
	ORDER BY n.nspname, c.relname, a.attnum LIMIT `

// Tables returns the tables and views of the database, for fanfold init.
func (s *Source) Tables(ctx context.Context) (all []kind.Table, err error) {
	found, err := s.calls.ask(ctx, tablesQuery+fmt.Sprint(maxColumns))
	for _, row := range found {
		name, text := row[1], quoted(row[1])
		if schema := row[0]; schema != "" {
			name, text = schema+"."+name, quoted(schema)+"."+text
		}
		if n := len(all); n == 0 || all[n-1].Text != text {
			all = append(all, kind.Table{Name: name, Text: text})
		}
		t := &all[len(all)-1]
		t.Columns = append(t.Columns, kind.Column{
			Name: row[2], Role: roleOf(row[3]), Indexed: row[4] == "t", Unique: row[5] == "t",
		})
	}
	return all, explainInit(err)
}

// Newest returns the latest value of a column, for fanfold init.
func (s *Source) Newest(ctx context.Context, t kind.Table, column string) (string, error) {
	found, err := s.calls.ask(ctx, "SELECT COALESCE(to_char(max("+quoted(column)+"), 'YYYY-MM-DD'), '') FROM "+t.Text)
	if err != nil || len(found) == 0 {
		return "", explainInit(err)
	}
	return found[0][0], nil
}

// explainInit gives an error its kind.
func explainInit(err error) error {
	switch {
	case err == nil:
		return nil
	case isDenied(err):
		return fault.Login.Of(tell(err))
	case codeOf(err) == "" || in(codeOf(err), away):
		return fault.Unreachable.Of(tell(err))
	}
	return tell(err)
}

var longType = regexp.MustCompile(`^_|json|bytea|xml|tsvector|tsquery|bit|range|inet|cidr|hstore|geometry|geography|` +
	`vector|point|line|lseg|box|path|polygon|circle`)

// roleOf returns what a column of a type can be in a first report.
func roleOf(name string) kind.Role {
	switch name {
	case "int2", "int4", "int8":
		return kind.Integer
	case "text", "varchar", "bpchar", "uuid":
		return kind.Text
	case "date", "timestamp", "timestamptz":
		return kind.Day
	}
	if longType.MatchString(name) {
		return kind.Long
	}
	return kind.Shown
}
