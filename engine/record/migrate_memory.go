package record

import (
	"cmp"
	"context"
	"database/sql"
)

// Names of the tables beside the record table. They are Fanfold's, in the record
// table's schema, also where that one is a service's.
const (
	metaTable      = "fanfold_meta"
	dueTable       = "fanfold_due"
	memoryVersions = "fanfold_memory_migrations"
)

// MigrateMemory makes the tables that outlive Redis, or brings them up to date,
// in the schema of that record table, which may be anybody's. As to the rest it
// is as Migrate.
//
// What was done is remembered in the table fanfold_memory_migrations.
func MigrateMemory(ctx context.Context, db *sql.DB, table string) ([]string, error) {
	name, err := parseTable(cmp.Or(table, DefaultTable))
	if err != nil {
		return nil, err
	}
	return migrate(ctx, db, tableName{name.schema, memoryVersions}, memoryMigrations(name.schema))
}

// memoryMigrations are the steps to today's tables, as migrations.
func memoryMigrations(schema string) []migration {
	meta, due := tableName{schema, metaTable}.quoted(), tableName{schema, dueTable}.quoted()
	return []migration{
		{"create table " + meta, "CREATE TABLE IF NOT EXISTS " + meta + ` (
		name  VARBINARY(255) NOT NULL PRIMARY KEY,
		value VARBINARY(255) NOT NULL
	) ENGINE=InnoDB`},
		{"create table " + due, "CREATE TABLE IF NOT EXISTS " + due + ` (
		kind   VARBINARY(255) NOT NULL,
		member VARBINARY(255) NOT NULL,
		due    BIGINT NOT NULL,
		PRIMARY KEY (kind, member)
	) ENGINE=InnoDB`},
		firingMigration(schema),
	}
}
