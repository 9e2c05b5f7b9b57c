package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// ErrNoFirings is returned by CheckFirings where the records cannot take what
// timers submit.
var ErrNoFirings = errors.New("record: timers cannot submit records here")

// firingTable is the table of what timers have submitted. It is Fanfold's, in
// the record table's schema, also where that one is a service's.
const firingTable = "fanfold_firing"

// firings is the ledger of what timers have submitted, which is known for far longer than a
// firing can wait for its action to be noted as done.
var firings = ledger{table: firingTable, columns: []string{"records", "name", "due"}, keys: 3, kept: 90 * 24 * time.Hour}

// Submit inserts a PENDING record for the firing of a timer, whose name and due
// time (ms) are its identity, and returns the record's id. Called again for the
// same firing it inserts nothing and returns the same id: firing and record are
// in one transaction. The table's id must be one that the database counts.
func (s *Store) Submit(ctx context.Context, name string, due int64, report string, parameters []byte) (id string, err error) {
	id, _, err = s.insertOnce(ctx, firings, []any{s.names.table, name, due}, report, parameters)
	if err != nil {
		return "", fmt.Errorf("record: submit for timer %s: %w", name, err)
	}
	return id, nil
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
	if err := s.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+s.beside(firingTable)+" WHERE 1 = 0").Scan(&n); err != nil {
		return fmt.Errorf("%w: table %s, which fanfold migrate makes: %w", ErrNoFirings, s.beside(firingTable), err)
	}
	return nil
}
