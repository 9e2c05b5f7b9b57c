package record

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/report"
)

// Names of the tables beside the record table. They belong to Fanfold and are in the schema of the
// record table, even if that is a service's.
const (
	metaTable     = "fanfold_meta"
	snapshotTable = "fanfold_snapshot"
	versionTable  = "fanfold_migrations"
)

// Migrate creates Fanfold's own record table (default file_download_record) or brings it up to
// date. It returns the steps that it made, if any. Many processes may call it at once: one works,
// the others wait. It can be repeated after a failure. It returns a *stored.Newer if a newer release
// has changed the table so that this one cannot use it.
//
// Completed steps are stored in the table <table>_migrations.
func Migrate(ctx context.Context, db *sql.DB, table string) ([]string, error) {
	name, err := parseTable(cmp.Or(table, report.DefaultTable))
	if err != nil {
		return nil, err
	}
	if len(name.table) > 64-len("_migrations") {
		return nil, fmt.Errorf("table name %q is too long", name.table)
	}
	return migrate(ctx, db, tableName{name.schema, name.table + "_migrations"}, migrations(name.quoted()))
}

// MigrateTables creates the tables beside a record table, which may be a service's, or brings them
// up to date, in the same schema. Otherwise it is like Migrate.
//
// Completed steps are stored in the table fanfold_migrations.
func MigrateTables(ctx context.Context, db *sql.DB, table string) ([]string, error) {
	name, err := parseTable(cmp.Or(table, report.DefaultTable))
	if err != nil {
		return nil, err
	}
	return migrate(ctx, db, tableName{name.schema, versionTable}, tableMigrations(name.schema))
}

// migrate makes the steps that the table of versions does not have.
func migrate(ctx context.Context, db *sql.DB, versions tableName, steps []migration) (done []string, err error) {
	failed := func(err error) error { return fmt.Errorf("migration by %s: %w", versions.quoted(), err) }
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, failed(err)
	}
	defer conn.Close()
	if err := lockMigrations(ctx, conn, versions); err != nil {
		return nil, failed(err)
	}
	defer func() {
		_, unlocked := conn.ExecContext(context.WithoutCancel(ctx), "SELECT RELEASE_LOCK("+migrationLock+")",
			versions.unquoted())
		err = errors.Join(err, unlocked)
	}()
	if _, err := conn.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+versions.quoted()+` (
		id         BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
		version_id BIGINT NOT NULL,
		needs      BIGINT NOT NULL,
		tstamp     DATETIME NULL DEFAULT CURRENT_TIMESTAMP
	)`); err != nil {
		return nil, failed(err)
	}
	version, err := made(ctx, conn, versions, len(steps))
	if err != nil {
		return nil, failed(err)
	}
	for ; version < len(steps); version++ {
		step := steps[version]
		if _, err := conn.ExecContext(ctx, step.statement); err != nil && !mysqldb.Answered(err, errIndexExists) {
			return done, failed(fmt.Errorf("%s: %w", step.description, err))
		}
		if _, err := conn.ExecContext(ctx, "INSERT INTO "+versions.quoted()+" (version_id, needs) VALUES (?, ?)",
			version+1, needs(steps, version+1)); err != nil {
			return done, failed(err)
		}
		done = append(done, step.description)
	}
	return done, nil
}

// migrationLock is the SQL expression of a lock's name: locks belong to the server, not to a
// schema, and MySQL limits their names to 64 characters. The lock ends with its session, so no
// lease must expire after a crash.
const migrationLock = "CONCAT('fanfold_', SHA2(CONCAT(COALESCE(DATABASE(), ''), '.', ?), 224))"

// lockMigrations waits for the lock until ctx ends.
func lockMigrations(ctx context.Context, conn *sql.Conn, versions tableName) error {
	for {
		var got sql.NullInt64
		if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK("+migrationLock+", 5)",
			versions.unquoted()).Scan(&got); err != nil {
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

// errIndexExists is the server error for an index that exists.
const errIndexExists = 1061

// migration is a step. Releases that do not know it can use the tables nevertheless, such as after a
// new table, unless it breaks them: those refuse to start.
type migration struct {
	description, statement string
	breaks                 bool // releases that do not know the step cannot use the tables
}

// needs returns how many steps a release must know to use tables with the first n steps.
func needs(steps []migration, n int) (needs int) {
	for i, step := range steps[:n] {
		if step.breaks {
			needs = i + 1
		}
	}
	return needs
}

// migrations are the steps to the current table. Every step may find its work done: a crash can
// happen between a step and its row.
//
// Parameters are what MariaDB makes of a column of type JSON. MySQL's own type would store another
// text: numbers beyond a double lose digits, and of two equal keys one remains.
func migrations(table string) []migration {
	return []migration{{description: "create table " + table, statement: "CREATE TABLE IF NOT EXISTS " + table + ` (
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
		description: "add index status_id to " + table, statement: "ALTER TABLE " + table +
			" ADD INDEX status_id (status, id)",
	}}
}

// tableMigrations are the steps to the current tables beside the record table.
func tableMigrations(schema string) []migration {
	meta, snapshot := tableName{schema, metaTable}.quoted(), tableName{schema, snapshotTable}.quoted()
	firing, request := tableName{schema, firingTable}.quoted(), tableName{schema, requestTable}.quoted()
	return []migration{
		{description: "create table " + meta, statement: "CREATE TABLE IF NOT EXISTS " + meta + ` (
		name  VARBINARY(255) NOT NULL PRIMARY KEY,
		value VARBINARY(255) NOT NULL
	) ENGINE=InnoDB`},
		{description: "create table " + snapshot, statement: "CREATE TABLE IF NOT EXISTS " + snapshot + ` (
		records VARBINARY(64) NOT NULL,
		part    INT UNSIGNED NOT NULL,
		members INT UNSIGNED NOT NULL,
		data    MEDIUMBLOB NOT NULL,
		PRIMARY KEY (records, part)
	) ENGINE=InnoDB`},
		{description: "create table " + firing, statement: "CREATE TABLE IF NOT EXISTS " + firing + ` (
		records VARBINARY(64) NOT NULL,
		name    VARBINARY(200) NOT NULL,
		due     BIGINT NOT NULL,
		id      VARBINARY(64) NOT NULL,
		made    TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
		PRIMARY KEY (records, name, due),
		KEY made (made)
	) ENGINE=InnoDB`},
		{description: "create table " + request, statement: "CREATE TABLE IF NOT EXISTS " + request + ` (
		records VARBINARY(64) NOT NULL,
		name    VARBINARY(200) NOT NULL,
		digest  BINARY(32) NOT NULL,
		id      VARBINARY(64) NOT NULL,
		made    TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
		PRIMARY KEY (records, name),
		KEY made (made)
	) ENGINE=InnoDB`},
	}
}
