package record

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
)

// TestSuccessesShareAStatement, and each gets what is its own; what cannot succeed
// spoils it for nobody.
func TestSuccessesShareAStatement(t *testing.T) {
	t.Parallel()
	s, db := own(t, report.Records{})
	db.SetMaxOpenConns(1) // so that its status counts all statements
	ctx := t.Context()
	const records = 2*successesAtOnce + 50
	run(t, db, "INSERT INTO file_download_record (id, report, status, attempt) SELECT seq, 'r', 'PROCESSING', 1 + (seq > 400) FROM seq_1_to_500")
	updates := func() (n int) {
		var name string
		if err := db.QueryRowContext(ctx, "SHOW SESSION STATUS LIKE 'Com_update'").Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	// succeed has all of these succeed at the same time.
	succeed := func(runs []engine.Run) []bool {
		t.Helper()
		s.successes.mu.Lock()
		s.successes.running += statementsAtOnce
		s.successes.mu.Unlock()
		results := make([]bool, len(runs))
		var calls sync.WaitGroup
		for i, r := range runs {
			calls.Go(func() {
				var err error
				if results[i], err = s.Succeed(ctx, r, fmt.Sprintf("file-%s-%d", r.ID, r.Attempt), 7); err != nil {
					t.Errorf("%v: %v", r, err)
				}
			})
		}
		waiting := func() int {
			s.successes.mu.Lock()
			defer s.successes.mu.Unlock()
			return len(s.successes.waiting)
		}
		for waiting() < len(runs) {
			time.Sleep(time.Millisecond)
		}
		s.successes.mu.Lock()
		s.successes.running -= statementsAtOnce - 1
		s.successes.mu.Unlock()
		s.succeedWaiting()
		calls.Wait()
		return results
	}
	var runs []engine.Run
	for i := range records {
		runs = append(runs, engine.Run{ID: fmt.Sprint(i + 1), Attempt: 1})
	}
	if _, err := s.known(ctx); err != nil {
		t.Fatal(err)
	}
	before := updates()
	if slices.Contains(succeed(runs), false) {
		t.Error("a record did not succeed")
	}
	if n := updates() - before; n != 3 {
		t.Errorf("%d statements for %d records", n, records)
	}
	for _, r := range runs {
		if got := read(t, s, r.ID); got.Status != engine.Success || got.File != "file-"+r.ID+"-1" {
			t.Fatalf("%+v", got)
		}
	}
	// One that somebody has cancelled, one that is gone, one of an older attempt, and
	// one that has succeeded before, among others.
	run(t, db, "UPDATE file_download_record SET status = 'CANCELLED' WHERE id = 300")
	run(t, db, "DELETE FROM file_download_record WHERE id = 301")
	runs = []engine.Run{{ID: "299", Attempt: 1}, {ID: "300", Attempt: 1}, {ID: "301", Attempt: 1}, {ID: "401", Attempt: 1}, {ID: "402", Attempt: 2}, {ID: "1", Attempt: 1}, {ID: "302", Attempt: 1}}
	if got, want := succeed(runs), []bool{true, false, false, false, true, true, true}; !slices.Equal(got, want) {
		t.Errorf("%v instead of %v", got, want)
	}
	for id, want := range map[string]engine.Status{"299": engine.Success, "300": engine.Cancelled, "401": engine.Processing, "402": engine.Success, "302": engine.Success} {
		if got := read(t, s, id); got.Status != want {
			t.Errorf("record %s is %s instead of %s", id, got.Status, want)
		}
	}
}
