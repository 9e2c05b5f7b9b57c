package record_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/engine"
	. "github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

// keeping are options that keep histories.
var keeping = report.Records{History: 30 * 24 * time.Hour, Filter: "report <> 'foreign'"}

// did is what a job did that ended with a status.
func did(status report.Status) *engine.History {
	began := time.UnixMilli(1_700_000_000_123).UTC()
	return &engine.History{
		Report: "r", Definition: "0a1b", Status: status, Started: began, Ended: began.Add(time.Minute), Rows: 7, Bytes: 70,
		Reason: "table “x” is missing 😀", Steps: []engine.Past{
			{Name: "a", Stage: 1, State: "done", Rows: 7, Tries: 2, Owner: "web-1", Began: &began, Ended: &began},
			{Name: "b", Stage: 1, State: "failed", Tries: 7, Error: "no such table"},
		},
	}
}

// processing inserts records that are PROCESSING, with ids from 1 to n.
func processing(t *testing.T, db *DB, n int) {
	t.Helper()
	run(t, db, fmt.Sprint("INSERT INTO file_download_record (id, report, status, attempt) ",
		"SELECT seq, 'r', 'PROCESSING', 1 FROM seq_1_to_", n))
}

func count(t *testing.T, db *DB, where string) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM fanfold_history WHERE "+where).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// ends are the final statuses, and how a record gets them.
func ends(s *Store) map[report.Status]func(context.Context, engine.Run) (bool, error) {
	return map[report.Status]func(context.Context, engine.Run) (bool, error){
		report.Success: func(ctx context.Context, r engine.Run) (bool, error) { return s.Succeed(ctx, r, "f"+r.ID, 7) },
		report.Partial: func(ctx context.Context, r engine.Run) (bool, error) {
			return s.SucceedPartly(ctx, r, "f"+r.ID, 7, "without b")
		},
		report.Failed:    func(ctx context.Context, r engine.Run) (bool, error) { return s.Fail(ctx, r, "why") },
		report.Cancelled: func(ctx context.Context, r engine.Run) (bool, error) { return s.Cancel(ctx, r, "why") },
	}
}

// TestHistory: every final status stores one history, also if it is written twice. A status that the record does not
// accept stores none.
func TestHistory(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, keeping)
		beside(t, db)
		if err := s.CheckHistory(t.Context()); err != nil || count(t, db, "1 = 1") != 0 {
			t.Fatal(err)
		}
		processing(t, db, 8)
		run(t, db, "UPDATE file_download_record SET report = 'foreign' WHERE id = 8")
		ids := map[report.Status]string{report.Success: "1", report.Partial: "2", report.Failed: "3", report.Cancelled: "4"}
		for status, end := range ends(s) {
			r := engine.Run{ID: ids[status], Attempt: 1, Did: did(status)}
			for range 2 {
				if !ok(t)(end(t.Context(), r)) {
					t.Errorf("%s was not written", status)
				}
			}
			for _, refused := range []engine.Run{
				{ID: "5", Attempt: 2, Did: did(status)}, {ID: "8", Attempt: 1, Did: did(status)}, {ID: "9", Attempt: 1, Did: did(status)},
			} {
				if ok(t)(end(t.Context(), refused)) {
					t.Errorf("%s of %+v was written", status, refused)
				}
			}
			h, err := s.History(t.Context(), r.ID, 1)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(did(status), h, cmp.Comparer(time.Time.Equal)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", status, diff)
			}
		}
		if n := count(t, db, "1 = 1"); n != len(ids) {
			t.Errorf("%d rows for %d records", n, len(ids))
		}
		if h, err := s.History(t.Context(), "1", 2); h != nil || err != nil {
			t.Errorf("of another attempt: %+v %v", h, err)
		}
		// Those that succeed together have theirs, and one that cannot succeed has none.
		runs := []engine.Run{{ID: "5", Attempt: 1, Did: did(report.Success)}, {ID: "6", Attempt: 2, Did: did(report.Success)}, {ID: "7", Attempt: 1, Did: did(report.Success)}, {ID: "3", Attempt: 1, Did: did(report.Success)}}
		if got, want := succeed(t, s, runs), []bool{true, false, true, false}; !slices.Equal(got, want) {
			t.Errorf("%v instead of %v", got, want)
		}
		if n := count(t, db, "status = 'SUCCESS'"); n != 3 {
			t.Errorf("%d rows of records that succeeded", n)
		}
	})
}

// TestNoHistory: without the table, a right or the option, and whatever the table does not accept, records become
// final as if there were no histories.
func TestNoHistory(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		for name, c := range map[string]struct {
			kept    time.Duration
			prepare string
			grants  []string
			missing bool
		}{
			"off":          {kept: 0},
			"no table":     {kept: time.Hour, prepare: "ALTER TABLE fanfold_history RENAME TO fanfold_hidden", missing: true},
			"no right":     {kept: time.Hour, grants: []string{"SELECT, UPDATE ON file_download_record"}, missing: true},
			"only reads":   {kept: time.Hour, grants: []string{"SELECT, UPDATE ON file_download_record", "SELECT ON fanfold_history"}, missing: true},
			"short column": {kept: time.Hour, prepare: "ALTER TABLE fanfold_history MODIFY steps VARCHAR(3)"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				schema, admin := pool(t, k)
				if _, err := Migrate(t.Context(), admin, ""); err != nil {
					t.Fatal(err)
				}
				beside(t, admin)
				processing(t, admin, 4)
				db := admin
				if c.grants != nil {
					db = connect(t, k, account(t, admin, schema, c.grants...))
				}
				if c.prepare != "" {
					run(t, admin, c.prepare)
				}
				s := store(t, db, report.Records{History: c.kept})
				ids := map[report.Status]string{report.Success: "1", report.Partial: "2", report.Failed: "3", report.Cancelled: "4"}
				for status, end := range ends(s) {
					r := engine.Run{ID: ids[status], Attempt: 1, Did: did(status)}
					if !ok(t)(end(t.Context(), r)) || read(t, s, r.ID).Status != status {
						t.Errorf("%s was not written", status)
					}
					if h, err := s.History(t.Context(), r.ID, 1); h != nil || err != nil {
						t.Errorf("%s: %+v %v", status, h, err)
					}
				}
				if _, err := s.PruneHistory(t.Context()); err != nil {
					t.Error(err)
				}
				if err := s.CheckHistory(t.Context()); (err != nil) != c.missing {
					t.Errorf("the check says %v", err)
				}
			})
		}
	})
}

// TestHistoryOfALockedTable: a status waits for a locked table of histories only a short time, and the next one does not.
func TestHistoryOfALockedTable(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		row := "INSERT INTO fanfold_history (records, id, attempt, report, definition, status, started, ended, row_count, bytes, " +
			"reason, steps) VALUES ('file_download_record', '1', 1, '', '', '', 0, 0, 0, 0, '', '')"
		for what, lock := range map[string]string{"a row": row, "the table": of(k, "LOCK TABLES fanfold_history WRITE", "LOCK TABLE fanfold_history")} {
			t.Run(what, func(t *testing.T) {
				s, db := own(t, k, keeping)
				beside(t, db)
				processing(t, db, 2)
				other, err := db.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer other.Close()
				unlock := []string{"ROLLBACK", of(k, "UNLOCK TABLES", "ROLLBACK")}
				for _, statement := range []string{"BEGIN", lock} {
					if _, err := other.ExecContext(t.Context(), statement); err != nil {
						t.Fatal(err)
					}
				}
				for _, id := range []string{"1", "2"} {
					if !ok(t)(s.Fail(t.Context(), engine.Run{ID: id, Attempt: 1, Did: did(report.Failed)}, "why")) {
						t.Errorf("record %s is not final", id)
					}
				}
				for _, statement := range unlock {
					if _, err := other.ExecContext(t.Context(), statement); err != nil {
						t.Fatal(err)
					}
				}
				if n := count(t, db, "1 = 1"); n != 0 {
					t.Errorf("%d rows", n)
				}
			})
		}
	})
}

// TestHistoryIsBounded: whatever a job says, it fits into a row and every database can store it.
func TestHistoryIsBounded(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, keeping)
		beside(t, db)
		processing(t, db, 1)
		h := did(report.Failed)
		h.Reason = "a\x00b\xff" + strings.Repeat("ä", 9000)
		for i := range 3000 {
			h.Steps = append(h.Steps, engine.Past{Name: fmt.Sprint("l", i), Stage: 1, State: "failed", Error: h.Reason})
		}
		if !ok(t)(s.Fail(t.Context(), engine.Run{ID: "1", Attempt: 1, Did: h}, "why")) {
			t.Fatal("it was not written")
		}
		got, err := s.History(t.Context(), "1", 1)
		if err != nil || got == nil {
			t.Fatal(got, err)
		}
		if n := count(t, db, "LENGTH(steps) <= 60000"); n != 1 || len(got.Steps) < 100 || got.Steps[0].Name != "a" || len(got.Reason) > 4000 ||
			!strings.HasPrefix(got.Reason, "a?b?ä") {
			t.Errorf("%d steps, %q", len(got.Steps), got.Reason[:10])
		}
	})
}

// TestPruneHistory deletes what is older than the retention, in batches.
func TestPruneHistory(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, keeping)
		beside(t, db)
		run(t, db, "INSERT INTO fanfold_history (records, id, attempt, report, definition, status, started, ended, row_count, bytes, reason, "+
			"steps, made) SELECT 'file_download_record', seq, 1, 'r', '', 'FAILED', 0, 0, 0, 0, '', '[]', "+
			"NOW() - INTERVAL (CASE WHEN seq > 600 THEN 29 ELSE 31 END) DAY FROM seq_1_to_700")
		run(t, db, "INSERT INTO fanfold_history (records, id, attempt, report, definition, status, started, ended, row_count, bytes, reason, "+
			"steps, made) SELECT 'another', id, attempt, report, definition, status, started, ended, row_count, bytes, reason, steps, made "+
			"FROM fanfold_history")
		for _, want := range []struct {
			more bool
			left int
		}{{true, 1400 - PrunedHistory}, {false, 800}, {false, 800}} {
			more, err := s.PruneHistory(t.Context())
			if n := count(t, db, "1 = 1"); err != nil || more != want.more || n != want.left {
				t.Errorf("%d left, more: %v, %v", n, more, err)
			}
		}
		// What is not kept any more is deleted, too.
		if _, err := store(t, db, report.Records{}).PruneHistory(t.Context()); err != nil || count(t, db, "1 = 1") != 700 || count(t, db, "records = 'another'") != 700 {
			t.Error(err)
		}
	})
}
