package record

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fanfold/fanfold/report"
)

// These are returned by Insert, InsertOnce and Submit if only the service can insert records.
var (
	// ErrNotCounted: the database does not generate the table's ids.
	ErrNotCounted = errors.New("the database does not generate the table's ids")
	// ErrFiltered: a new record would not match records.filter.
	ErrFiltered = errors.New("a new row does not match records.filter")
	// ErrNoOwner: the table has no column for the owner or the tenant of a new record.
	ErrNoOwner = errors.New("the table has no column for it: add one, and map it under records.columns")
)

// Request is what a new record asks for.
type Request struct {
	Report     string
	Parameters []byte // a JSON object or nil
	Owner      string // who it is for; empty: nobody
	Tenant     string // of the owner; empty: none
}

// Insert inserts a PENDING record and returns its id. The database must generate the table's ids, and its other
// columns must have defaults. Errors: ErrNotCounted, ErrFiltered, ErrNoOwner.
func (s inserter) Insert(ctx context.Context, of Request) (id string, err error) {
	l, err := s.known(ctx)
	if err != nil {
		return "", err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return "", fmt.Errorf("insert: %w", err)
	}
	defer tx.Rollback()
	if id, err = s.insert(ctx, tx, l, of); err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return "", fmt.Errorf("insert: %w", err)
	}
	return id, nil
}

// ErrOtherRequest is returned by InsertOnce for a key that was used for another record.
var ErrOtherRequest = errors.New("the key was used for another request")

// ErrNoRequests is returned by InsertOnce if the table of requests does not exist.
var ErrNoRequests = errors.New("the table of requests does not exist")

// requestTable is the table of requests with a key. It belongs to Fanfold and is in the schema of
// the record table, even if that is a service's.
const requestTable = "fanfold_request"

// KeptRequests is how long the key of a request is remembered.
const KeptRequests = 7 * 24 * time.Hour

// requests is the ledger of requests with a key.
var requests = ledger{table: requestTable, absent: ErrNoRequests, columns: []string{"records", "name", "digest"},
	keys: 2, kept: KeptRequests}

// InsertOnce is Insert for a request with a key of 1 to 200 bytes that the caller has chosen.
// Another call with the same key and the same record within KeptRequests inserts nothing,
// returns the same id, and sets before, because key and record are in one transaction. With another
// record it returns ErrOtherRequest. Its other errors are those of Insert, and
// ErrNoRequests.
func (s inserter) InsertOnce(ctx context.Context, key string, of Request) (id string, before bool, err error) {
	digest := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %s", of.Report, of.Owner, of.Tenant, of.Parameters))
	row := []any{s.names.Name, []byte(key), digest[:]}
	id, before, err = s.insertOnce(ctx, requests, row, of)
	if err == nil && before {
		var same int
		err = s.db.QueryRowContext(ctx, s.sql("SELECT COUNT(*) FROM {request} WHERE records = ? AND name = ? AND digest = ?"),
			row...).Scan(&same)
		if err = s.own(requests, err); err == nil && same == 0 {
			err = ErrOtherRequest
		}
	}
	if err != nil {
		return "", false, fmt.Errorf("insert once: %w", err)
	}
	return id, before, nil
}

// Requested tells whether InsertOnce has inserted a record for a key.
func (s inserter) Requested(ctx context.Context, key string) (bool, error) {
	var n int
	err := s.db.QueryRowContext(ctx, s.sql("SELECT COUNT(*) FROM {request} WHERE records = ? AND name = ?"),
		s.names.Name, []byte(key)).Scan(&n)
	if err = s.own(requests, err); err != nil {
		return false, fmt.Errorf("request: %w", err)
	}
	return n > 0, nil
}

// ledger is a table of Fanfold's that remembers why records were inserted: a row has a key, the id
// of a record, and the time.
type ledger struct {
	table   string
	columns []string // of a row, except id and made
	keys    int      // how many of these columns are the key
	kept    time.Duration
	absent  error // error if the table does not exist; nil: callers have checked
}

// own converts an error of the ledger's own statements.
func (s inserter) own(in ledger, err error) error {
	if in.absent != nil && s.kind.Is(err, NoTable|Denied) {
		return fmt.Errorf("%w: %w", in.absent, err)
	}
	return err
}

// pruned is the maximum number of old rows that are deleted per new one.
const pruned = 2

// insertOnce inserts a PENDING record and a row of a ledger in one transaction. If the key exists,
// it inserts nothing and returns the id of its row.
func (s inserter) insertOnce(ctx context.Context, in ledger, row []any,
	of Request) (id string, before bool, err error) {
	l, err := s.known(ctx)
	if err != nil {
		return "", false, err
	}
	insert := func() (id string, err error) {
		id, before, err = s.insertWith(ctx, l, in, row, of)
		return id, err
	}
	id, err = repeated(ctx, s.kind, insert, Contended)
	if errors.Is(err, sql.ErrNoRows) { // an old row with this key was deleted just now
		id, err = repeated(ctx, s.kind, insert, Contended)
	}
	if err == nil && !before {
		// An error is ignored: later calls delete more.
		_, _ = s.db.ExecContext(ctx, s.sql(s.kind.Prune(s.beside(in.table), "", pruned)), in.kept.Microseconds())
	}
	return id, before, err
}

func (s inserter) insertWith(ctx context.Context, l *layout, in ledger, row []any,
	of Request) (id string, before bool, err error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return "", false, err
	}
	defer tx.Rollback()
	table, key := s.beside(in.table), row[:in.keys:in.keys]
	where := " WHERE " + strings.Join(in.columns[:in.keys], " = ? AND ") + " = ?"
	// Insert the ledger's row first: a concurrent call waits here until this transaction ends.
	_, err = tx.ExecContext(ctx, s.sql("INSERT INTO "+table+
		" ("+strings.Join(in.columns, ", ")+", id) VALUES ("+marks(len(row))+", '')"), row...)
	if s.kind.Is(err, Duplicate) {
		// The other transaction has ended. This one cannot be used any more in every database.
		if err := tx.Rollback(); err != nil {
			return "", false, err
		}
		err = s.db.QueryRowContext(ctx, s.sql("SELECT id FROM "+table+where), key...).Scan(&id)
		return id, true, s.own(in, err)
	}
	if err != nil {
		return "", false, s.own(in, err)
	}
	if id, err = s.insert(ctx, tx, l, of); err != nil {
		return "", false, err
	}
	update := s.sql("UPDATE " + table + " SET id = ?" + where)
	if _, err := tx.ExecContext(ctx, update, append([]any{id}, key...)...); err != nil {
		return "", false, s.own(in, err)
	}
	return id, false, tx.Commit()
}

// insert inserts a PENDING record. After an error the caller rolls back.
func (s inserter) insert(ctx context.Context, tx *sql.Tx, l *layout, of Request) (id string, err error) {
	columns, args := "{report}, {status}", []any{of.Report, l.statuses[report.Pending]}
	if _, ok := s.columns["parameters"]; ok && of.Parameters != nil {
		columns, args = columns+", {parameters}", append(args, string(of.Parameters))
	}
	for name, value := range map[string]string{"owner": of.Owner, "tenant": of.Tenant} {
		if column := l.optional[name]; value != "" && column == "" {
			return "", fmt.Errorf("%s: %w", name, ErrNoOwner)
		} else if value != "" {
			columns, args = columns+", "+column, append(args, value)
		}
	}
	statement := s.sql("INSERT INTO {table} (" + columns + ") VALUES (" + marks(len(args)) + ")")
	id, err = s.kind.Insert(ctx, tx, statement, s.columns["id"], args)
	if err != nil {
		return "", err
	}
	arg, ok := l.argument(id)
	if !ok || id == "0" {
		return "", ErrNotCounted
	}
	if s.filter != "" {
		var seen int
		err := tx.QueryRowContext(ctx, s.sql("SELECT COUNT(*) FROM {table} WHERE {id} = ?{filter}"), arg).Scan(&seen)
		if err != nil {
			return "", err
		}
		if seen == 0 {
			return "", ErrFiltered
		}
	}
	return id, nil
}
