package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

// Kind is MySQL and MariaDB.
var Kind = &record.Kind{
	Name:           "mysql",
	CheckCondition: dialect.MySQL.CheckCondition,
	Connect:        connect,
	Class:          class,
	SQL:            statements,
	Columns:        columns,
	IsTable:        isTable,
	HasIndex:       hasIndex,
	Layout: record.Layout{
		MaxName: 64, Versions: versions, Records: records, Beside: beside, Lock: lock, Unlock: unlock,
	},
}

func connect(d report.Database, o record.Options) (*sql.DB, error) {
	if o.Migrates {
		return mysqldb.Connect(d, o.MaxConnections, o.Patience)
	}
	return mysqldb.ConnectRecords(d, o.MaxConnections, o.Patience, o.Zone)
}

var statements = record.SQL{
	Quote: func(name string) string { return "`" + name + "`" },
	Words: map[string]string{
		"now":       "NOW(6)",
		"ago":       "NOW(6) - INTERVAL ? MICROSECOND",
		"int":       "?",
		"integer":   "SIGNED",
		"same":      "CAST({person} AS BINARY) = CAST(? AS BINARY)",
		"bytes":     "CAST(? AS BINARY)",
		"form":      "JSON_UNQUOTE(JSON_EXTRACT(?, '$'))",
		"generated": "AUTO_INCREMENT",

		"unless stored": " ON DUPLICATE KEY UPDATE records = records",
	},
	Parameter: func(context.Context, *sql.DB, record.Type) (string, error) {
		// CASE: the server may evaluate AND in any order, and a text may not be JSON.
		return "CASE WHEN JSON_VALID({parameters}) THEN " +
			"CAST(JSON_UNQUOTE(JSON_EXTRACT({parameters}, ?)) AS BINARY) END", nil
	},
	Member: func(name string) string { return "$." + string(report.EncodeBound(name)) },
	Text:   func(column string) string { return column },
	Age:    func(column string) string { return "TIMESTAMPDIFF(MICROSECOND, " + column + ", NOW(6))" },
	Instant: func(column string, of record.Type) string {
		if of.Zoned {
			return "UNIX_TIMESTAMP(" + column + ")"
		}
		return "CAST(" + column + " AS CHAR)"
	},
	Within: within,
	Prune: func(table, also string, n int) string {
		return "DELETE FROM " + table + " WHERE " + also + "made < {ago} ORDER BY made LIMIT " + strconv.Itoa(n)
	},
	Replace: func(_, columns []string) string {
		var all []string
		for _, column := range columns {
			all = append(all, column+" = VALUES("+column+")")
		}
		return " ON DUPLICATE KEY UPDATE " + strings.Join(all, ", ")
	},
	Insert: insert,
	Type:   typeOf,
}

// within is needed because closing the connection would not stop the query on the server.
func within(query string, left time.Duration) string {
	// The first hint is for MariaDB, the second for MySQL; each is a comment to the other.
	return fmt.Sprintf("/*M! SET STATEMENT max_statement_time=%.3f FOR */ SELECT /*+ MAX_EXECUTION_TIME(%d) */ ",
		left.Seconds(), left.Milliseconds()) + strings.TrimPrefix(query, "SELECT ")
}

func insert(ctx context.Context, tx *sql.Tx, statement, _ string, args []any) (string, error) {
	result, err := tx.ExecContext(ctx, statement, args...)
	if err != nil {
		return "", err
	}
	n, err := result.LastInsertId()
	if err != nil {
		return "", err
	}
	return strconv.FormatInt(n, 10), nil
}

// typeOf reads the driver's names.
func typeOf(name string) record.Type {
	switch name {
	case "CHAR", "VARCHAR", "TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT", "ENUM", "BINARY", "VARBINARY":
		return record.Type{Of: record.Text}
	case "DATETIME", "TIMESTAMP":
		return record.Type{Of: record.Time, Zoned: name == "TIMESTAMP"}
	}
	if strings.HasSuffix(name, "INT") {
		return record.Type{Of: record.Integer, Bits: 64, Unsigned: true}
	}
	return record.Type{}
}
