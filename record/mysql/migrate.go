package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/fanfold/fanfold/record"
)

func versions(table string) string {
	return "CREATE TABLE IF NOT EXISTS " + table + ` (
		id         BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
		version_id BIGINT NOT NULL,
		needs      BIGINT NOT NULL,
		tstamp     DATETIME NULL DEFAULT CURRENT_TIMESTAMP
	)`
}

// lockName is the SQL expression of a lock's name: locks belong to the server, not to a schema, and
// MySQL limits their names to 64 characters. The lock ends with its session, so no lease must expire
// after a crash.
const lockName = "CONCAT('fanfold_', SHA2(CONCAT(COALESCE(DATABASE(), ''), '.', ?), 224))"

func lock(ctx context.Context, conn *sql.Conn, name string) error {
	for {
		var got sql.NullInt64
		if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK("+lockName+", 5)", name).Scan(&got); err != nil {
			return fmt.Errorf("lock: %w", err)
		}
		if got.Int64 == 1 {
			return nil
		}
		if !got.Valid {
			return errors.New("lock: refused by the server")
		}
	}
}

func unlock(ctx context.Context, conn *sql.Conn, name string) error {
	_, err := conn.ExecContext(ctx, "SELECT RELEASE_LOCK("+lockName+")", name)
	return err
}

// records are the steps to the current table. A crash can happen between a step and its row.
//
// Parameters are what MariaDB makes of a column of type JSON. MySQL's own type would store another
// text: numbers beyond a double lose digits, and of two equal keys one remains.
func records(t record.Table) []record.Migration {
	table := statements.Table(t)
	const name = "VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL"
	return []record.Migration{{
		Description: "create table " + table,
		Statement: "CREATE TABLE IF NOT EXISTS " + table + ` (
		id         BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
		report     VARCHAR(64) CHARACTER SET ascii NOT NULL,
		parameters LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL CHECK (JSON_VALID(parameters)),
		status     VARCHAR(16) CHARACTER SET ascii NOT NULL DEFAULT 'PENDING',
		attempt    INT UNSIGNED NOT NULL DEFAULT 0,
		file       VARCHAR(1024) NULL,
		row_count  BIGINT UNSIGNED NULL,
		error      TEXT NULL,
		created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
		updated_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),
		KEY status_updated (status, updated_at)
	) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4`}, {
		// A rebuild reads PENDING and PROCESSING records in the order of ids.
		Description: "add index status_id to " + table, Statement: "ALTER TABLE " + table +
			" ADD INDEX status_id (status, id)",
	}, {
		Description: "add column owner to " + table, Statement: "ALTER TABLE " + table + " ADD COLUMN owner " + name,
	}, {
		Description: "add column tenant to " + table, Statement: "ALTER TABLE " + table + " ADD COLUMN tenant " + name,
	}, {
		// An order page lists the newest records of an owner.
		Description: "add index owner_id to " + table, Statement: "ALTER TABLE " + table +
			" ADD INDEX owner_id (owner, id)",
	}}
}

// beside are the steps to the current tables beside the record table.
func beside(of record.Beside) []record.Migration {
	return []record.Migration{
		{Description: "create table " + of.Meta, Statement: "CREATE TABLE IF NOT EXISTS " + of.Meta + ` (
		name  VARBINARY(255) NOT NULL PRIMARY KEY,
		value VARBINARY(255) NOT NULL
	) ENGINE=InnoDB`},
		{Description: "create table " + of.Snapshot, Statement: "CREATE TABLE IF NOT EXISTS " + of.Snapshot + ` (
		records VARBINARY(64) NOT NULL,
		part    INT UNSIGNED NOT NULL,
		members INT UNSIGNED NOT NULL,
		data    MEDIUMBLOB NOT NULL,
		PRIMARY KEY (records, part)
	) ENGINE=InnoDB`},
		{Description: "create table " + of.Firing, Statement: "CREATE TABLE IF NOT EXISTS " + of.Firing + ` (
		records VARBINARY(64) NOT NULL,
		name    VARBINARY(200) NOT NULL,
		due     BIGINT NOT NULL,
		id      VARBINARY(64) NOT NULL,
		made    TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
		PRIMARY KEY (records, name, due),
		KEY made (made)
	) ENGINE=InnoDB`},
		{Description: "create table " + of.Request, Statement: "CREATE TABLE IF NOT EXISTS " + of.Request + ` (
		records VARBINARY(64) NOT NULL,
		name    VARBINARY(200) NOT NULL,
		digest  BINARY(32) NOT NULL,
		id      VARBINARY(64) NOT NULL,
		made    TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
		PRIMARY KEY (records, name),
		KEY made (made)
	) ENGINE=InnoDB`},
		{Description: "create table " + of.Shared, Statement: "CREATE TABLE IF NOT EXISTS " + of.Shared + ` (
		records VARBINARY(64) NOT NULL,
		file    BINARY(32) NOT NULL,
		id      VARBINARY(64) NOT NULL,
		made    TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
		PRIMARY KEY (records, file, id)
	) ENGINE=InnoDB`},
		{Description: "create table " + of.History, Statement: "CREATE TABLE IF NOT EXISTS " + of.History + ` (
		records    VARBINARY(64) NOT NULL,
		id         VARBINARY(64) NOT NULL,
		attempt    BIGINT NOT NULL,
		report     VARBINARY(64) NOT NULL,
		definition VARBINARY(64) NOT NULL,
		status     VARBINARY(16) NOT NULL,
		started    BIGINT NOT NULL,
		ended      BIGINT NOT NULL,
		row_count  BIGINT NOT NULL,
		bytes      BIGINT NOT NULL,
		reason     TEXT CHARACTER SET utf8mb4 NOT NULL,
		steps      MEDIUMTEXT CHARACTER SET utf8mb4 NOT NULL,
		made       TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
		PRIMARY KEY (records, id, attempt),
		KEY made (records, made)
	) ENGINE=InnoDB`},
		{Description: "create table " + of.Audit, Statement: "CREATE TABLE IF NOT EXISTS " + of.Audit + ` (
		records VARBINARY(64) NOT NULL,
		ms      BIGINT NOT NULL,
		seq     BIGINT NOT NULL,
		who     VARCHAR(300) NOT NULL,
		face    VARCHAR(300) NOT NULL,
		origin  VARCHAR(300) NOT NULL,
		act     VARCHAR(300) NOT NULL,
		target  VARCHAR(300) NOT NULL,
		n       BIGINT NOT NULL,
		answer  VARCHAR(300) NOT NULL,
		reason  VARCHAR(300) NOT NULL,
		detail  VARCHAR(300) NOT NULL,
		made    TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
		PRIMARY KEY (records, ms, seq),
		KEY target (records, target, ms, seq),
		KEY act (records, act, ms, seq),
		KEY made (records, made)
	) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`},
	}
}
