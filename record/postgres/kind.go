package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/record"
)

// Kind is PostgreSQL.
var Kind = &record.Kind{
	Name:           "postgres",
	CheckCondition: dialect.Postgres.CheckCondition,
	Connect:        connect,
	Class:          class,
	SQL:            statements,
	Columns:        columns,
	IsTable:        isTable,
	HasIndex:       hasIndex,
	Layout: record.Layout{
		MaxName: 63, Versions: versions, Records: records, Beside: beside, Lock: lock, Unlock: unlock,
	},
}

// now is the time when a statement began: now() is that of its transaction.
const now = "statement_timestamp()"

var statements = record.SQL{
	Quote:    func(name string) string { return `"` + name + `"` },
	Numbered: true,
	Exact:    true,
	Words: map[string]string{
		"now":       now,
		"ago":       now + " - CAST(? AS bigint) * interval '1 microsecond'",
		"int":       "CAST(? AS bigint)", // the driver refuses an integer beyond the column's type
		"integer":   "bigint",
		"same":      `CAST({person} AS text) COLLATE "C" = CAST(? AS text)`,
		"bytes":     "CAST(? AS text)",
		"form":      "CAST(CAST(? AS text) AS jsonb) #>> '{}'",
		"generated": "an identity, and has no default that calls a function",

		"unless stored": " ON CONFLICT DO NOTHING",
	},
	Parameter: parameter,
	Member:    func(name string) string { return name },
	Text:      func(column string) string { return "CAST(" + column + " AS text)" },
	Age: func(column string) string {
		// The difference to an infinite time is an error.
		return "CASE WHEN isfinite(" + column + ") THEN CAST(EXTRACT(EPOCH FROM " + now + " - " + column +
			") * 1000000 AS bigint) END"
	},
	Instant: func(column string, _ record.Type) string {
		return "CASE WHEN isfinite(" + column + ") THEN CAST(CAST(EXTRACT(EPOCH FROM " + column +
			") * 1000000 AS bigint) AS text) END"
	},
	Prune: func(table, also string, n int) string {
		return "DELETE FROM " + table + " WHERE ctid = ANY (ARRAY(SELECT ctid FROM " + table +
			" WHERE " + also + "made < {ago} ORDER BY made LIMIT " + strconv.Itoa(n) + " FOR UPDATE SKIP LOCKED))"
	},
	Replace: func(key, columns []string) string {
		var all []string
		for _, column := range columns {
			all = append(all, column+" = EXCLUDED."+column)
		}
		return " ON CONFLICT (" + strings.Join(key, ", ") + ") DO UPDATE SET " + strings.Join(all, ", ")
	},
	Insert: insert,
	Type:   typeOf,
}

// firstIsJSON is the first version with IS JSON.
const firstIsJSON = 160000

// plainText is a condition for JSON that has no escape for which PostgreSQL has no text: that of NUL, and half a
// surrogate pair. The type json stores them, and only its functions fail.
const plainText = `regexp_replace(CAST({parameters} AS text), ` +
	`'\\u[dD][89aAbB][0-9a-fA-F][0-9a-fA-F]\\u[dD][c-fC-F][0-9a-fA-F][0-9a-fA-F]', '', 'g') ` +
	`!~ '\\u(0000|[dD][89a-fA-F])'`

func parameter(ctx context.Context, db *sql.DB, of record.Type) (string, error) {
	// The operator ->> returns NULL for null.
	const member = "CASE WHEN " + plainText +
		" THEN (SELECT COALESCE(v #>> '{}', CAST(v AS text)) FROM (SELECT CAST({parameters} AS json) -> CAST(? AS text)) m(v)) END"
	if of.Of == record.JSON {
		return member, nil
	}
	var version int
	if err := db.QueryRowContext(ctx, "SELECT CAST(current_setting('server_version_num') AS integer)").Scan(
		&version); err != nil {
		return "", fmt.Errorf("version of the server: %w", err)
	}
	if version < firstIsJSON {
		return "", errors.New("records cannot be found by their parameters: before PostgreSQL 16, the column of the " +
			"parameters must have the type json or jsonb")
	}
	// CASE: the server may evaluate AND in any order, and a text may not be JSON.
	return "CASE WHEN {parameters} IS JSON THEN " + member + " END", nil
}

func insert(ctx context.Context, tx *sql.Tx, statement, id string, args []any) (made string, err error) {
	return made, tx.QueryRowContext(ctx, statement+" RETURNING "+id, args...).Scan(&made)
}

// typeOf reads the driver's names, which are those of the catalog in capitals.
func typeOf(name string) record.Type {
	switch name {
	case "TEXT", "VARCHAR", "BPCHAR", "NAME", "CITEXT":
		return record.Type{Of: record.Text, Folded: name == "CITEXT"}
	case "INT2":
		return record.Type{Of: record.Integer, Bits: 16}
	case "INT4":
		return record.Type{Of: record.Integer, Bits: 32}
	case "INT8":
		return record.Type{Of: record.Integer, Bits: 64}
	case "TIMESTAMP", "TIMESTAMPTZ":
		return record.Type{Of: record.Time, Zoned: name == "TIMESTAMPTZ"}
	case "UUID":
		return record.Type{Of: record.UUID}
	case "JSON", "JSONB":
		return record.Type{Of: record.JSON}
	}
	return record.Type{}
}
