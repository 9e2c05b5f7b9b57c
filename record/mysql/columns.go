package mysql

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/fanfold/fanfold/record"
)

// where selects the rows of information_schema about a table.
const where = " WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ?"

func columns(ctx context.Context, db *sql.DB, t record.Table) (all []record.Column, err error) {
	rows, err := db.QueryContext(ctx, `SELECT COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, EXTRA, PRIVILEGES,
		CHARACTER_MAXIMUM_LENGTH, CHARACTER_OCTET_LENGTH FROM information_schema.COLUMNS`+where, t.Schema, t.Name)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var c record.Column
		var null, extra, privileges string
		var length, octets sql.NullInt64
		if err := rows.Scan(&c.Name, &c.Type, &null, &extra, &privileges, &length, &octets); err != nil {
			return nil, err
		}
		extra = strings.ToLower(extra)
		c.Nullable, c.Readable = null == "YES", strings.Contains(privileges, "select")
		c.Generated, c.Moves = extra == "auto_increment", strings.Contains(extra, "on update")
		c.Characters, c.Bytes = int(length.Int64), int(octets.Int64)
		switch {
		case strings.HasPrefix(c.Type, "datetime"):
			c.Of = typeOf("DATETIME")
		case strings.HasPrefix(c.Type, "timestamp"):
			c.Of = typeOf("TIMESTAMP")
		case strings.HasPrefix(c.Type, "enum('"):
			values := strings.TrimSuffix(strings.TrimPrefix(c.Type, "enum('"), "')")
			for value := range strings.SplitSeq(values, "','") {
				c.Values = append(c.Values, strings.ReplaceAll(value, "''", "'"))
			}
		}
		all = append(all, c)
	}
	return all, rows.Err()
}

// isTable is false if information_schema does not have the table.
func isTable(ctx context.Context, db *sql.DB, t record.Table) (bool, error) {
	var kind string
	err := db.QueryRowContext(ctx, "SELECT TABLE_TYPE FROM information_schema.TABLES"+where, t.Schema,
		t.Name).Scan(&kind)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return !strings.Contains(kind, "VIEW"), err
}

func hasIndex(ctx context.Context, db *sql.DB, t record.Table, column string) (bool, error) {
	var indexes int
	err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.STATISTICS"+where+
		" AND COLUMN_NAME = ? AND SEQ_IN_INDEX = 1", t.Schema, t.Name, column).Scan(&indexes)
	return indexes > 0, err
}
