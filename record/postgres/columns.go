package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/fanfold/fanfold/record"
)

// catalog selects the columns of a table or view. A domain counts as the type that it is made of.
const catalog = `SELECT a.attname, format_type(a.atttypid, a.atttypmod), upper(base.typname), base.typtype = 'e',
	NOT (a.attnotnull OR own.typnotnull), has_column_privilege(a.attrelid, a.attnum, 'SELECT'),
	a.attidentity <> '' OR COALESCE(pg_get_expr(d.adbin, d.adrelid) LIKE '%(%', false),
	CASE WHEN base.typname IN ('varchar', 'bpchar') THEN
		greatest(CASE own.typtype WHEN 'd' THEN own.typtypmod ELSE a.atttypmod END - 4, 0) ELSE 0 END,
	COALESCE(CAST((SELECT json_agg(e.enumlabel) FROM pg_enum e WHERE e.enumtypid = base.oid) AS text), 'null')
	FROM pg_attribute a
	JOIN pg_type own ON own.oid = a.atttypid
	JOIN pg_type base ON base.oid = CASE own.typtype WHEN 'd' THEN own.typbasetype ELSE own.oid END
	LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
	WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped`

func columns(ctx context.Context, db *sql.DB, t record.Table) (all []record.Column, err error) {
	rows, err := db.QueryContext(ctx, catalog, statements.Table(t))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var c record.Column
		var name, labels string
		var enum bool
		if err := rows.Scan(&c.Name, &c.Type, &name, &enum, &c.Nullable, &c.Readable, &c.Generated, &c.Characters,
			&labels); err != nil {
			return nil, err
		}
		c.Of = typeOf(name)
		if enum {
			c.Of = record.Type{Of: record.Text}
			if err := json.Unmarshal([]byte(labels), &c.Values); err != nil {
				return nil, err
			}
		}
		c.Bytes = 4 * c.Characters
		all = append(all, c)
	}
	return all, rows.Err()
}

// isTable is false where row security hides rows: a row that it hides is not deleted.
func isTable(ctx context.Context, db *sql.DB, t record.Table) (is bool, err error) {
	err = db.QueryRowContext(ctx, `SELECT relkind IN ('r', 'p') AND NOT row_security_active(oid)
		FROM pg_class WHERE oid = to_regclass($1)`, statements.Table(t)).Scan(&is)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return is, err
}

func hasIndex(ctx context.Context, db *sql.DB, t record.Table, column string) (has bool, err error) {
	err = db.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM pg_index i
		JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
		WHERE i.indrelid = to_regclass($1) AND a.attname = $2 AND i.indisvalid AND i.indpred IS NULL)`,
		statements.Table(t), column).Scan(&has)
	return has, err
}
