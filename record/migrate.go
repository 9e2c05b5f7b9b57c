package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"

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
func Migrate(ctx context.Context, db *DB, table string) ([]string, error) {
	name, err := parseTable(cmp.Or(table, report.DefaultTable))
	if err != nil {
		return nil, err
	}
	if len(name.Name) > db.Kind.MaxName-len("_migrations") {
		return nil, fmt.Errorf("table name %q is too long", name.Name)
	}
	return migrate(ctx, db, Table{name.Schema, name.Name + "_migrations"}, db.Kind.Records(name))
}

// MigrateTables creates the tables beside a record table, which may be a service's, or brings them
// up to date, in the same schema. Otherwise it is like Migrate.
//
// Completed steps are stored in the table fanfold_migrations.
func MigrateTables(ctx context.Context, db *DB, table string) ([]string, error) {
	name, err := parseTable(cmp.Or(table, report.DefaultTable))
	if err != nil {
		return nil, err
	}
	return migrate(ctx, db, Table{name.Schema, versionTable}, db.Kind.Beside(beside(db.Kind, name.Schema)))
}

// migrate makes the steps that the table of versions does not have.
func migrate(ctx context.Context, db *DB, versions Table, steps []Migration) (done []string, err error) {
	k, table := db.Kind, db.Kind.Table(versions)
	failed := func(err error) error { return fmt.Errorf("migration by %s: %w", table, err) }
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, failed(err)
	}
	defer conn.Close()
	if err := k.Lock(ctx, conn, versions.String()); err != nil {
		return nil, failed(err)
	}
	defer func() {
		err = errors.Join(err, k.Unlock(context.WithoutCancel(ctx), conn, versions.String()))
	}()
	if _, err := conn.ExecContext(ctx, k.Versions(table)); err != nil {
		return nil, failed(err)
	}
	version, err := made(ctx, conn, k, versions, len(steps))
	if err != nil {
		return nil, failed(err)
	}
	for ; version < len(steps); version++ {
		step := steps[version]
		if _, err := conn.ExecContext(ctx, step.Statement); err != nil && !k.Is(err, Exists) {
			return done, failed(fmt.Errorf("%s: %w", step.Description, err))
		}
		if _, err := conn.ExecContext(ctx, k.template("INSERT INTO "+table+" (version_id, needs) VALUES (?, ?)"),
			version+1, needs(steps, version+1)); err != nil {
			return done, failed(err)
		}
		done = append(done, step.Description)
	}
	return done, nil
}

// needs returns how many steps a release must know to use tables with the first n steps.
func needs(steps []Migration, n int) (needs int) {
	for i, step := range steps[:n] {
		if step.Breaks {
			needs = i + 1
		}
	}
	return needs
}

// beside returns the names of the tables beside the record table.
func beside(k *Kind, schema string) Beside {
	name := func(table string) string { return k.Table(Table{schema, table}) }
	return Beside{Meta: name(metaTable), Snapshot: name(snapshotTable), Firing: name(firingTable),
		Request: name(requestTable), Shared: name(sharedTable), History: name(historyTable),
		Audit: name(auditTable)}
}
