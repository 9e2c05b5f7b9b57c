package record

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/go-sql-driver/mysql"
)

// execer is a pool or a transaction.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// changed returns the number of rows that an UPDATE changed.
func changed(result sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Numbers of server errors after which the same statement can succeed.
const (
	errChanged     = 1020 // record has changed since the snapshot (MariaDB with innodb_snapshot_isolation)
	errLockTimeout = 1205
	errDeadlock    = 1213
)

// contended repeats a change that lost against another writer. The server has
// rolled it back, or its caller does.
func contended[T any](ctx context.Context, change func() (T, error)) (T, error) {
	return repeated(ctx, change, errChanged, errLockTimeout, errDeadlock)
}

// repeated repeats a change, a few times, that the server answers with one of these
// numbers.
func repeated[T any](ctx context.Context, change func() (T, error), numbers ...uint16) (T, error) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval = 5 * time.Millisecond
	wait.MaxInterval = 500 * time.Millisecond
	return backoff.Retry(ctx, func() (T, error) {
		result, err := change()
		if err != nil && !serverError(err, numbers...) {
			err = backoff.Permanent(err)
		}
		return result, err
	}, backoff.WithBackOff(wait), backoff.WithMaxTries(10))
}

// serverError tells whether the server answered with one of these numbers.
func serverError(err error, numbers ...uint16) bool {
	var server *mysql.MySQLError
	if !errors.As(err, &server) {
		return false
	}
	for _, n := range numbers {
		if server.Number == n {
			return true
		}
	}
	return false
}
