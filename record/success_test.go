package record_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/engine"
	. "github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

// TestSuccessesShareAStatement, and each gets what is its own; what cannot succeed
// spoils it for nobody.
func TestSuccessesShareAStatement(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{Filter: "report <> 'foreign'"})
		db.SetMaxOpenConns(1) // so that its status counts all statements
		ctx := t.Context()
		const records = 2*MaxSuccesses + 50
		run(t, db, "INSERT INTO file_download_record (id, report, status, attempt) SELECT seq, 'r', 'PROCESSING', CASE WHEN seq > 400 THEN 2 ELSE 1 END FROM seq_1_to_500")
		updates := of(k, comUpdate, countUpdates)(t, db)
		var runs []engine.Run
		for i := range records {
			runs = append(runs, engine.Run{ID: fmt.Sprint(i + 1), Attempt: 1})
		}
		if _, err := s.Read(ctx, nil); err != nil {
			t.Fatal(err)
		}
		before := updates()
		if slices.Contains(succeed(t, s, runs), false) {
			t.Error("a record did not succeed")
		}
		if n := updates() - before; n != 3 {
			t.Errorf("%d statements for %d records", n, records)
		}
		for _, r := range runs {
			if got := read(t, s, r.ID); got.Status != report.Success || got.File != "file-"+r.ID+"-1" {
				t.Fatalf("%+v", got)
			}
		}
		// One that somebody has cancelled, one that is gone, one that the filter leaves out,
		// one of an older attempt, and one that has succeeded before, among others.
		run(t, db, "UPDATE file_download_record SET status = 'CANCELLED' WHERE id = 300")
		run(t, db, "DELETE FROM file_download_record WHERE id = 301")
		run(t, db, "UPDATE file_download_record SET report = 'foreign' WHERE id = 303")
		runs = []engine.Run{{ID: "299", Attempt: 1}, {ID: "300", Attempt: 1}, {ID: "301", Attempt: 1}, {ID: "303", Attempt: 1}, {ID: "401", Attempt: 1}, {ID: "402", Attempt: 2}, {ID: "1", Attempt: 1}, {ID: "302", Attempt: 1}}
		if got, want := succeed(t, s, runs), []bool{true, false, false, false, false, true, true, true}; !slices.Equal(got, want) {
			t.Errorf("%v instead of %v", got, want)
		}
		for id, want := range map[string]report.Status{"299": report.Success, "300": report.Cancelled, "401": report.Processing, "402": report.Success, "302": report.Success} {
			if got := read(t, s, id); got.Status != want {
				t.Errorf("record %s is %s instead of %s", id, got.Status, want)
			}
		}
	})
}

// comUpdate counts the UPDATEs of the session, of which db must have only one.
func comUpdate(t *testing.T, db *DB) func() int {
	return func() (n int) {
		var name string
		if err := db.QueryRowContext(t.Context(), "SHOW SESSION STATUS LIKE 'Com_update'").Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
}

// countUpdates counts the UPDATEs of Fanfold's own table with a trigger.
func countUpdates(t *testing.T, db *DB) func() int {
	run(t, db, "CREATE TABLE updates (n int)")
	run(t, db, "CREATE FUNCTION counts() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO updates VALUES (1); RETURN NULL; END'")
	run(t, db, "CREATE TRIGGER counts AFTER UPDATE ON file_download_record FOR EACH STATEMENT EXECUTE FUNCTION counts()")
	return func() (n int) {
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM updates").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
}

// succeed has all of these succeed at the same time.
func succeed(t *testing.T, s *Store, runs []engine.Run) []bool {
	t.Helper()
	if _, _, err := s.Widths(t.Context()); err != nil { // it reads the layout, if that was not read
		t.Fatal(err)
	}
	queued := make(chan struct{})
	waiting := s.HoldSuccesses(queued)
	results := make([]bool, len(runs))
	var calls sync.WaitGroup
	for i, r := range runs {
		calls.Go(func() {
			var err error
			if results[i], err = s.Succeed(t.Context(), r, fmt.Sprintf("file-%s-%d", r.ID, r.Attempt), 7); err != nil {
				t.Errorf("%v: %v", r, err)
			}
		})
	}
	eventually(t, "all wait", func() bool { return waiting() == len(runs) })
	close(queued)
	calls.Wait()
	return results
}

// TestALockedRecordHoldsNobodyUp: the others do not wait for it.
func TestALockedRecordHoldsNobodyUp(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		ctx := t.Context()
		run(t, db, "INSERT INTO file_download_record (id, report, status, attempt) SELECT seq, 'r', 'PROCESSING', 1 FROM seq_1_to_20")
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(ctx, "UPDATE file_download_record SET error = 'x' WHERE id = 3"); err != nil {
			t.Fatal(err)
		}
		// The lock is released when all others have succeeded.
		locked := make(chan []bool, 1)
		go func() {
			locked <- succeed(t, s, []engine.Run{{ID: "3", Attempt: 1}, {ID: "1", Attempt: 1}, {ID: "2", Attempt: 1}, {ID: "4", Attempt: 1}})
		}()
		for _, id := range []string{"1", "2", "4"} {
			eventually(t, "record "+id+" has succeeded", func() bool { return read(t, s, id).Status == report.Success })
		}
		if got := read(t, s, "3").Status; got != report.Processing {
			t.Errorf("the locked one is %s", got)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if got := <-locked; slices.Contains(got, false) {
			t.Errorf("%v", got)
		}
	})
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	late := time.After(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("half a minute has passed, but not: " + what)
		}
	}
}
