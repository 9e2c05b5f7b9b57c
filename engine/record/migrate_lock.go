package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"
)

// ensureVersions makes goose's version table under the lock. Goose would do so
// before it takes its lock, and two at once can then miss the first row, as can
// everybody after a crash between table and row.
func ensureVersions(ctx context.Context, db *sql.DB, table string) (err error) {
	versions, err := database.NewStore(database.DialectMySQL, table)
	if err != nil {
		return err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	l := sessionLock(table)
	if err := l.SessionLock(ctx, conn); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.SessionUnlock(context.WithoutCancel(ctx), conn)) }()
	exists, err := versions.(database.StoreExtender).TableExists(ctx, conn)
	if err != nil {
		return err
	}
	if !exists {
		if err := versions.CreateVersionTable(ctx, conn); err != nil {
			return err
		}
	}
	done, err := versions.ListMigrations(ctx, conn)
	if err != nil || len(done) > 0 {
		return err
	}
	return versions.Insert(ctx, conn, database.InsertRequest{Version: 0})
}

// sessionLock is the name of a lock of the server, which ends with its session
// at the latest: no lease has to run out after a crash. Unlike goose's lock in a
// table it needs no second connection and no parsed times.
type sessionLock string

var _ lock.SessionLocker = sessionLock("")

// SessionLock waits for the lock as long as ctx lasts.
func (l sessionLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	for {
		var got sql.NullInt64
		if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK("+l.key()+", 5)", string(l)).Scan(&got); err != nil {
			return fmt.Errorf("migration lock: %w", err)
		}
		if got.Int64 == 1 {
			return nil
		}
		if !got.Valid {
			return errors.New("migration lock: refused by the server")
		}
	}
}

// SessionUnlock gives the lock back.
func (l sessionLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	var gone sql.NullInt64
	return conn.QueryRowContext(ctx, "SELECT RELEASE_LOCK("+l.key()+")", string(l)).Scan(&gone)
}

// key is the lock's name in SQL: locks are the server's, not the schema's, and
// their names are short.
func (sessionLock) key() string {
	return "CONCAT('fanfold_', SHA1(CONCAT(COALESCE(DATABASE(), ''), '.', ?)))"
}

func (t tableName) unquoted() string {
	if t.schema == "" {
		return t.table
	}
	return t.schema + "." + t.table
}
