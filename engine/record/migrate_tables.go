package record

import (
	"cmp"
	"context"
	"database/sql"
)

// Names of the tables beside the record table. They are Fanfold's, in the record
// table's schema, also where that one is a service's.
const (
	metaTable     = "fanfold_meta"
	snapshotTable = "fanfold_snapshot"
	versionTable  = "fanfold_migrations"
)

// MigrateTables makes the tables beside the record table, or brings them up to date,
// in the schema of that record table, which may be anybody's. As to the rest it
// is as Migrate.
//
// What was done is remembered in the table fanfold_migrations.
func MigrateTables(ctx context.Context, db *sql.DB, table string) ([]string, error) {
	name, err := parseTable(cmp.Or(table, DefaultTable))
	if err != nil {
		return nil, err
	}
	return migrate(ctx, db, tableName{name.schema, versionTable}, tableMigrations(name.schema))
}

// tableMigrations are the steps to today's tables, as migrations.
func tableMigrations(schema string) []migration {
	meta, snapshot := tableName{schema, metaTable}.quoted(), tableName{schema, snapshotTable}.quoted()
	return []migration{
		{"create table " + meta, "CREATE TABLE IF NOT EXISTS " + meta + ` (
		name  VARBINARY(255) NOT NULL PRIMARY KEY,
		value VARBINARY(255) NOT NULL
	) ENGINE=InnoDB`},
		{"create table " + snapshot, "CREATE TABLE IF NOT EXISTS " + snapshot + ` (
		records VARBINARY(64) NOT NULL,
		part    INT UNSIGNED NOT NULL,
		members INT UNSIGNED NOT NULL,
		data    MEDIUMBLOB NOT NULL,
		PRIMARY KEY (records, part)
	) ENGINE=InnoDB`},
		firingMigration(schema),
	}
}
