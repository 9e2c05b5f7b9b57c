package record

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
)

// historyTable is the table of what jobs did. It belongs to Fanfold and is in the schema of the record table, even if
// that is a service's.
const historyTable = "fanfold_history"

const (
	// maxHistory is the maximum number of bytes of the steps of a job.
	maxHistory = 60_000
	// maxPastError is the maximum number of characters of the error of a step.
	maxPastError = 500
	// historyTime bounds the INSERT: a final status does not wait for a table that others have locked.
	historyTime = time.Second
	// historyPause is how long no history is written after an error that does not concern the records.
	historyPause = time.Minute
	// prunedHistory is the maximum number of rows that PruneHistory deletes in one statement.
	prunedHistory = 500
)

var (
	historyKey     = []string{"records", "id", "attempt"}
	historyColumns = []string{"report", "definition", "status", "started", "ended", "row_count", "bytes",
		"reason", "steps"}
)

// histories keeps what jobs did.
type histories struct {
	*mapping
	kept  time.Duration // 0: nothing is
	until atomic.Int64  // in Unix ms: none is written before, because the table does not accept it
}

// notKept is an error of a history that must not keep a record from becoming final. It is of no class, so that the
// change is not repeated with it.
type notKept struct{ error }

// end gives records their final status, and stores in the same transaction what their jobs did. If the table of
// histories does not accept that, the records become final without it.
func (s finisher) end(ctx context.Context, l *layout, c change, runs ...engine.Run) (int64, error) {
	c.with = s.history.insert(runs)
	n, err := s.update(ctx, l, c)
	if _, without := errors.AsType[notKept](err); without && ctx.Err() == nil {
		s.history.until.Store(time.Now().Add(historyPause).UnixMilli())
		c.with = nil
		n, err = s.update(ctx, l, c)
	}
	return n, err
}

// insert returns what stores the histories of runs; nil: there are none, or they are not kept.
func (h *histories) insert(runs []engine.Run) func(context.Context, *sql.Tx) error {
	if h.kept == 0 || time.Now().UnixMilli() < h.until.Load() {
		return nil
	}
	var args []any
	for _, run := range runs {
		if did := run.Did; did != nil {
			args = append(args, h.names.Name, run.ID, run.Attempt, did.Report, did.Definition, string(did.Status),
				did.Started.UnixMilli(), did.Ended.UnixMilli(), did.Rows, did.Bytes,
				fit(textOf(did.Reason), size{maxReason, maxReason}), encodeSteps(did.Steps))
		}
	}
	if len(args) == 0 {
		return nil
	}
	columns := append(historyKey[:len(historyKey):len(historyKey)], historyColumns...)
	row := "(" + marks(len(columns)) + ")"
	statement := h.sql("INSERT INTO {history} (" + strings.Join(columns, ", ") + ") VALUES " +
		row + strings.Repeat(", "+row, len(args)/len(columns)-1) + h.kind.Replace(historyKey, historyColumns))
	return func(ctx context.Context, tx *sql.Tx) error {
		short, cancel := context.WithTimeout(ctx, historyTime)
		defer cancel()
		_, err := tx.ExecContext(short, statement, args...)
		if err != nil && (short.Err() != nil || !h.kind.Away(err) && !h.kind.Is(err, Deadlocked)) {
			return notKept{err}
		}
		return err
	}
}

// textOf returns a text that every database can store.
func textOf(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\x00", "?")
}

// encodeSteps returns steps as JSON of at most maxHistory bytes. Errors go first, then the last steps.
func encodeSteps(steps []engine.Past) string {
	for most := maxPastError; ; most /= 4 {
		short := make([]engine.Past, len(steps))
		for i, step := range steps {
			step.Error = report.ShortenTo(step.Error, most)
			short[i] = step
		}
		text, err := json.Marshal(short)
		if err == nil && len(text) <= maxHistory {
			return string(text)
		}
		if most == 0 {
			steps = steps[:len(steps)/2]
		}
	}
}

// History returns what the job of an attempt did; nil: it is not kept.
func (s finisher) History(ctx context.Context, id string, attempt int64) (*engine.History, error) {
	h := &engine.History{}
	var started, ended int64
	var steps []byte
	err := s.db.QueryRowContext(ctx, s.sql("SELECT "+strings.Join(historyColumns, ", ")+
		" FROM {history} WHERE records = ? AND id = ? AND attempt = {int}"), s.names.Name, id, attempt).Scan(
		&h.Report, &h.Definition, &h.Status, &started, &ended, &h.Rows, &h.Bytes, &h.Reason, &steps)
	if errors.Is(err, sql.ErrNoRows) || s.kind.Is(err, NoTable|Denied) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(steps, &h.Steps)
	}
	if err != nil {
		return nil, fmt.Errorf("history of %s: %w", id, err)
	}
	h.Started, h.Ended = time.UnixMilli(started), time.UnixMilli(ended)
	return h, nil
}

// PruneHistory deletes some of the rows that are older than they are kept. It tells whether there may be more.
func (s finisher) PruneHistory(ctx context.Context) (more bool, err error) {
	n, err := changed(s.db.ExecContext(ctx, s.sql(s.kind.Prune("{history}", "records = ? AND ", prunedHistory)),
		s.names.Name, s.history.kept.Microseconds()))
	if s.kind.Is(err, NoTable|Denied) {
		return false, nil // fanfold doctor says so
	}
	return n == prunedHistory, err
}

// CheckHistory checks that histories can be kept: that a row can be inserted, replaced, read and deleted. It changes
// nothing.
func (s finisher) CheckHistory(ctx context.Context) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	probe := &histories{mapping: s.mapping, kept: 1}
	run := engine.Run{ID: "", Did: &engine.History{}}
	for _, do := range []func() error{
		func() error { return probe.insert([]engine.Run{run})(ctx, tx) },
		func() error {
			var n int
			return tx.QueryRowContext(ctx, s.sql("SELECT COUNT(*) FROM {history} WHERE records = ? AND id = ''"),
				s.names.Name).Scan(&n)
		},
		func() error {
			_, err := tx.ExecContext(ctx, s.sql("DELETE FROM {history} WHERE records = ? AND id = ''"), s.names.Name)
			return err
		},
	} {
		if err := do(); err != nil {
			if of, ok := errors.AsType[notKept](err); ok {
				err = of.error
			}
			return fmt.Errorf("table %s: %w", s.beside(historyTable), err)
		}
	}
	return nil
}
