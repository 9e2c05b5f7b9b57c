package record

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrNoFirings is returned by CheckFirings if timers cannot submit records to this table.
var ErrNoFirings = errors.New("timers cannot submit records here")

// firingTable is the table of submissions by timers. It belongs to Fanfold and is in the schema of
// the record table, even if that is a service's.
const firingTable = "fanfold_firing"

// firings is the ledger of submissions by timers. Its rows are kept far longer than a firing can
// wait until its action is noted as done.
var firings = ledger{table: firingTable, columns: []string{"records", "name", "due"}, keys: 3,
	kept: 90 * 24 * time.Hour}

// Submit inserts a PENDING record for the firing of a timer and returns the record's id. Name and
// due time (ms) identify the firing: another call for the same firing inserts nothing and returns
// the same id, because firing and record are in one transaction. The database must generate the
// table's ids.
func (s inserter) Submit(ctx context.Context, name string, due int64, report string,
	parameters []byte) (id string, err error) {
	of := Request{Report: report, Parameters: parameters}
	id, _, err = s.insertOnce(ctx, firings, []any{s.names.Name, []byte(name), due}, of)
	if err != nil {
		return "", fmt.Errorf("submit for timer %s: %w", name, err)
	}
	return id, nil
}

// CheckFirings checks that timers can submit records: the table of firings exists, and the database
// generates ids. It changes nothing. The error matches ErrNoFirings and says what to do.
func (s inserter) CheckFirings(ctx context.Context) error {
	l, err := s.known(ctx)
	if err != nil {
		return err
	}
	if !l.generated {
		return fmt.Errorf("%w: column %s.%s is not %s, so the service must insert its records itself; let the "+
			"timer append or call instead",
			ErrNoFirings, s.table, s.columns["id"], s.kind.Words["generated"])
	}
	var n int
	if err := s.db.QueryRowContext(ctx, s.sql("SELECT COUNT(*) FROM {firing} WHERE 1 = 0")).Scan(&n); err != nil {
		return fmt.Errorf("%w: table %s: %w: create it with fanfold migrate", ErrNoFirings, s.beside(firingTable), err)
	}
	return nil
}
