package record

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"

	"github.com/pressly/goose/v3"
)

// Migrate makes Fanfold's own record table (default file_download_record), or
// brings it up to date, and returns what was done; nothing where it was up to
// date. It may be called by many processes at once: one works, the others wait.
// It can be called again after a failure.
//
// What was done is remembered in the table <table>_migrations.
func Migrate(ctx context.Context, db *sql.DB, table string) ([]string, error) {
	name, err := parseTable(cmp.Or(table, DefaultTable))
	if err != nil {
		return nil, err
	}
	if len(name.table) > 64-len("_migrations") {
		return nil, fmt.Errorf("record: table name %q is too long", name.table)
	}
	return migrate(ctx, db, tableName{name.schema, name.table + "_migrations"}, migrations(name.quoted()))
}

// migrate makes those steps that the table of versions does not have.
func migrate(ctx context.Context, db *sql.DB, versions tableName, steps []migration) ([]string, error) {
	var each []*goose.Migration
	for i, step := range steps {
		each = append(each, goose.NewGoMigration(int64(i+1), &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, step.statement)
			if serverError(err, errIndexExists) {
				return nil
			}
			return err
		}}, nil))
	}
	provider, err := goose.NewProvider(goose.DialectMySQL, db, nil,
		goose.WithGoMigrations(each...),
		goose.WithDisableGlobalRegistry(true),
		goose.WithTableName(versions.unquoted()),
		goose.WithSessionLocker(sessionLock(versions.unquoted())),
	)
	if err != nil {
		return nil, fmt.Errorf("record: migrations: %w", err)
	}
	if err := ensureVersions(ctx, db, versions.unquoted()); err != nil {
		return nil, fmt.Errorf("record: table %s: %w", versions.quoted(), err)
	}
	results, err := provider.Up(ctx)
	if err != nil {
		return nil, fmt.Errorf("record: migration by %s: %w", versions.quoted(), err)
	}
	var done []string
	for _, result := range results {
		done = append(done, steps[result.Source.Version-1].description)
	}
	return done, nil
}

// errIndexExists is the number of the server error for an index that is there.
const errIndexExists = 1061

type migration struct{ description, statement string }

// migrations are the steps to today's table, each of which may find its work
// done: a crash can come between a step and the note that it was made.
func migrations(table string) []migration {
	return []migration{{"create table " + table, "CREATE TABLE IF NOT EXISTS " + table + ` (
		id         BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
		report     VARCHAR(64) CHARACTER SET ascii NOT NULL,
		parameters JSON NULL,
		status     VARCHAR(16) CHARACTER SET ascii NOT NULL DEFAULT 'PENDING',
		attempt    INT UNSIGNED NOT NULL DEFAULT 0,
		file       VARCHAR(1024) NULL,
		row_count  BIGINT UNSIGNED NULL,
		error      TEXT NULL,
		created_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
		updated_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),
		KEY status_updated (status, updated_at)
	) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4`}, {
		// A rebuild reads what is PENDING and what is PROCESSING in the order of ids.
		"add index status_id to " + table, "ALTER TABLE " + table + " ADD INDEX status_id (status, id)",
	}}
}
