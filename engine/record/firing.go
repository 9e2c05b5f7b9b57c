package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/report"
)

// ErrNoFirings is returned by CheckFirings where the records cannot take what
// timers submit.
var ErrNoFirings = errors.New("record: timers cannot submit records here")

// These are returned by Insert and Submit where only their service can insert records.
var (
	// ErrNotCounted: the database does not count their ids.
	ErrNotCounted = errors.New("record: the table's id is not counted by the database")
	// ErrFiltered: a new record would not be seen.
	ErrFiltered = errors.New("record: a new row does not fulfil records.filter")
)

// firingTable is the table of what timers have submitted. It is Fanfold's, in
// the record table's schema, also where that one is a service's.
const firingTable = "fanfold_firing"

// keptFirings is how long it is known what a timer has submitted: far longer than
// a firing can wait for its action to be noted as done.
const keptFirings = 90 * 24 * time.Hour

// prunedFirings bounds how many old firings go with a new one.
const prunedFirings = 2

// errDuplicate is the number of the server error for a key that is there.
const errDuplicate = 1062

func (s *Store) firings() string { return s.beside(firingTable) }

// Submit inserts a PENDING record for the firing of a timer, whose name and due
// time (ms) are its identity, and returns the record's id. Called again for the
// same firing it inserts nothing and returns the same id: firing and record are
// in one transaction. The table's id must be one that the database counts.
func (s *Store) Submit(ctx context.Context, name string, due int64, report string, parameters []byte) (id string, err error) {
	l, err := s.known(ctx)
	if err != nil {
		return "", err
	}
	id, err = contended(ctx, func() (string, error) { return s.submit(ctx, l, name, due, report, parameters) })
	if err != nil {
		return "", fmt.Errorf("record: submit for timer %s: %w", name, err)
	}
	return id, nil
}

func (s *Store) submit(ctx context.Context, l *layout, name string, due int64, report string, parameters []byte) (id string, err error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return "", err
	}
	defer tx.Rollback()
	// The firing comes first: a second caller waits here for the end of the first.
	key := []any{s.names.table, name, due}
	_, err = tx.ExecContext(ctx, "INSERT INTO "+s.firings()+" (records, name, due, id) VALUES (?, ?, ?, '')", key...)
	if serverError(err, errDuplicate) {
		err = tx.QueryRowContext(ctx, "SELECT id FROM "+s.firings()+" WHERE records = ? AND name = ? AND due = ? FOR UPDATE", key...).Scan(&id)
		return id, err
	}
	if err != nil {
		return "", err
	}
	if id, err = s.insert(ctx, tx, l, report, parameters); err != nil {
		return "", err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE "+s.firings()+" SET id = ? WHERE records = ? AND name = ? AND due = ?", append([]any{id}, key...)...); err != nil {
		return "", err
	}
	if err := tx.Commit(); err != nil {
		return "", err
	}
	s.pruneFirings(ctx)
	return id, nil
}

// pruneFirings removes some that are old. That it fails changes nothing: the next
// ones remove more.
func (s *Store) pruneFirings(ctx context.Context) {
	_, _ = s.db.ExecContext(ctx, "DELETE FROM "+s.firings()+" WHERE made < NOW() - INTERVAL ? SECOND ORDER BY made LIMIT "+strconv.Itoa(prunedFirings), int64(keptFirings.Seconds()))
}

// CheckFirings proves that timers can submit records: the table of firings is
// there, and the records have an id that the database counts. It changes nothing.
// The error matches ErrNoFirings and says what to do.
func (s *Store) CheckFirings(ctx context.Context) error {
	if _, err := s.known(ctx); err != nil {
		return err
	}
	var extra sql.NullString
	err := s.db.QueryRowContext(ctx, `SELECT EXTRA FROM information_schema.COLUMNS
		WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ? AND COLUMN_NAME = ?`,
		s.names.schema, s.names.table, s.plain["id"]).Scan(&extra)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("record: columns of %s: %w", s.table, err)
	}
	if extra.String != "auto_increment" {
		return fmt.Errorf("%w: column %s.%s is not AUTO_INCREMENT, so the service must insert its records itself; let the timer append or call instead",
			ErrNoFirings, s.table, s.columns["id"])
	}
	var n int
	if err := s.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+s.firings()+" WHERE 1 = 0").Scan(&n); err != nil {
		return fmt.Errorf("%w: table %s, which fanfold migrate makes: %w", ErrNoFirings, s.firings(), err)
	}
	return nil
}

// insert makes a PENDING record. After an error its caller rolls back.
func (s *Store) insert(ctx context.Context, tx *sql.Tx, l *layout, of string, parameters []byte) (id string, err error) {
	columns, args := s.columns["report"]+", "+s.columns["status"], []any{of, l.statuses[report.Pending]}
	if column, ok := s.columns["parameters"]; ok && parameters != nil {
		columns, args = columns+", "+column, append(args, string(parameters))
	}
	result, err := tx.ExecContext(ctx, "INSERT INTO "+s.table+" ("+columns+") VALUES ("+marks(len(args))+")", args...)
	if err != nil {
		return "", err
	}
	n, err := result.LastInsertId()
	if err != nil {
		return "", err
	}
	if n == 0 {
		return "", ErrNotCounted
	}
	if s.filter != "" {
		var seen int
		err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+s.table+" WHERE "+s.columns["id"]+" = ?"+s.filter, n).Scan(&seen)
		if err != nil {
			return "", err
		}
		if seen == 0 {
			return "", ErrFiltered
		}
	}
	return strconv.FormatInt(n, 10), nil
}
