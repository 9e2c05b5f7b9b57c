package record_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/engine"
	. "github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

func TestStartOfABatchWithACompetitor(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		run(t, db, "INSERT INTO file_download_record (report, attempt) SELECT 'r', seq % 2 FROM seq_1_to_20")
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		competitor, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer competitor.Rollback()
		if _, err := competitor.Exec("UPDATE file_download_record SET status = 'CANCELLED' WHERE id IN (7, 8)"); err != nil {
			t.Fatal(err)
		}
		var runs []engine.Run
		for id := 20; id >= 1; id-- {
			runs = append(runs, engine.Run{ID: fmt.Sprint(id), Attempt: int64(id % 2)})
		}
		runs = append(runs, engine.Run{ID: "999"})
		runs[0].Attempt++ // of record 20: somebody else was faster
		var started []bool
		var g errgroup.Group
		g.Go(func() (err error) {
			started, err = s.Start(context.Background(), runs)
			return err
		})
		waitFor(t, db, lockWaits(k))
		if err := competitor.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		for i, r := range runs {
			want := r.ID != "7" && r.ID != "8" && r.ID != "20" && r.ID != "999"
			if started[i] != want {
				t.Errorf("record %s: started %v", r.ID, started[i])
			}
			if r.ID == "999" {
				continue
			}
			if got := read(t, s, r.ID); (got.Status == report.Processing) != want || want && got.Attempt != r.Attempt+1 {
				t.Errorf("record %s: %+v", r.ID, got)
			}
		}
	})
}

// TestStartsThatOverlap: every id is started by exactly one of many.
func TestStartsThatOverlap(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		const ids, workers = 500, 8
		run(t, db, "INSERT INTO file_download_record (report) SELECT 'r' FROM seq_1_to_500")
		results := make([][]bool, workers)
		batches := make([][]engine.Run, workers)
		g, ctx := errgroup.WithContext(t.Context())
		for w := range workers {
			random := rand.New(rand.NewPCG(uint64(w), 1))
			for _, i := range random.Perm(ids)[:ids-w*20] {
				batches[w] = append(batches[w], engine.Run{ID: fmt.Sprint(i + 1)})
			}
			g.Go(func() (err error) {
				results[w], err = s.Start(ctx, batches[w])
				return err
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		times := map[string]int{}
		for w := range workers {
			for i, done := range results[w] {
				if done {
					times[batches[w][i].ID]++
				}
			}
		}
		for i := range ids {
			if n := times[fmt.Sprint(i+1)]; n != 1 {
				t.Errorf("record %d was started %d times", i+1, n)
			}
		}
		var sum int
		if err := db.QueryRow("SELECT SUM(attempt) FROM file_download_record WHERE status = 'PROCESSING'").Scan(&sum); err != nil || sum != ids {
			t.Errorf("attempts together: %d, %v", sum, err)
		}
	})
}

func TestContendedChangesAreRepeated(t *testing.T) {
	t.Parallel()
	failure := errors.New("failure")
	for class, want := range map[Class]int{Deadlocked: 3, Locked: 3, Deadlocked | Away: 3, Duplicate: 1, 0: 1} {
		k := &Kind{Class: func(error) (Class, bool) { return class, true }}
		calls := 0
		_, err := Repeated(t.Context(), k, func() (int, error) {
			if calls++; calls < 3 {
				return 0, fmt.Errorf("wrapped: %w", failure)
			}
			return 1, nil
		}, Contended)
		if calls != want || (err == nil) != (want == 3) {
			t.Errorf("class %d: %d calls, %v", class, calls, err)
		}
		if want == 1 && !errors.Is(err, failure) {
			t.Errorf("class %d: the error became %v", class, err)
		}
	}
	k, calls := &Kind{Class: func(error) (Class, bool) { return Deadlocked, true }}, 0
	fails := func() (int, error) { calls++; return 0, failure }
	if _, err := Repeated(t.Context(), k, fails, Contended); calls < 3 || !errors.Is(err, failure) {
		t.Errorf("after %d calls: %v", calls, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Repeated(ctx, k, fails, Contended); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestDeadlocks provokes deadlocks with a writer that takes the rows in the
// opposite order.
func TestDeadlocks(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		run(t, db, "INSERT INTO file_download_record (report) SELECT 'r' FROM seq_1_to_100")
		run(t, db, "CREATE TABLE weight (n INT)")
		var runs []engine.Run
		for i := range 100 {
			runs = append(runs, engine.Run{ID: fmt.Sprint(i + 1)})
		}
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		competitor, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer competitor.Rollback()
		// The server ends the smaller one of two transactions in a deadlock.
		for _, statement := range []string{of(k, "DO 1", "SELECT set_config('lock_timeout', '0', true), set_config('deadlock_timeout', '1min', true)"), "INSERT INTO weight SELECT seq FROM seq_1_to_5000", "UPDATE file_download_record SET file = 'x' WHERE id > 50"} {
			if _, err := competitor.Exec(text(t, k, statement)); err != nil {
				t.Fatal(err)
			}
		}
		var g errgroup.Group
		var started []bool
		g.Go(func() (err error) {
			started, err = s.Start(context.Background(), runs)
			return err
		})
		waitFor(t, db, lockWaits(k))
		if _, err := competitor.Exec("UPDATE file_download_record SET file = 'x' WHERE id < 50"); err != nil {
			t.Fatal(err)
		}
		if err := competitor.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		for i, done := range started {
			if !done { // it was locked for longer than a batch waits
				again, err := s.Start(t.Context(), runs[i:i+1])
				if err != nil || !again[0] {
					t.Errorf("record %d was not started: %v", i+1, err)
				}
			}
		}
	})
}

// TestAStartNeedsNoOtherRow: rows that it does not name hold it up by no index, even where
// the index on the status has fewer rows.
func TestAStartNeedsNoOtherRow(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		ctx := t.Context()
		run(t, db, "INSERT INTO file_download_record (id, report, status) SELECT seq, 'r', CASE WHEN seq IN (1, 2, 2995) THEN 'PENDING' ELSE 'FAILED' END FROM seq_1_to_3000")
		run(t, db, "ANALYZE TABLE file_download_record")
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(ctx, "UPDATE file_download_record SET error = 'x' WHERE id = 2995"); err != nil {
			t.Fatal(err)
		}
		if n, err := s.StartAll(ctx, 40); err != nil || n != 2 {
			t.Errorf("started %d: %v", n, err)
		}
	})
}

// TestALockedRecordHoldsNoStartUp: the others are started, and it is later.
func TestALockedRecordHoldsNoStartUp(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		ctx := t.Context()
		run(t, db, "INSERT INTO file_download_record (id, report) SELECT seq, 'r' FROM seq_1_to_3000")
		if err := s.Check(ctx); err != nil {
			t.Fatal(err)
		}
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		locked := func(id int) bool { return id == 3 || id >= 12 && id <= 16 }
		if _, err := tx.ExecContext(ctx, "UPDATE file_download_record SET error = 'x' WHERE id IN (3, 12, 13, 14, 15, 16)"); err != nil {
			t.Fatal(err)
		}
		var runs []engine.Run
		for id := 1; id <= 20; id++ {
			runs = append(runs, engine.Run{ID: fmt.Sprint(id)})
		}
		start := func(runs []engine.Run) []bool {
			t.Helper()
			started, err := s.Start(ctx, runs)
			if err != nil {
				t.Fatal(err)
			}
			return started
		}
		// All of these are where the lock is not met, those behind too many locked ones wait.
		for i, done := range start(runs) {
			if id := i + 1; done != (!locked(id) && id < 12) {
				t.Errorf("record %d: started %v", id, done)
			}
		}
		for i, done := range start(runs[16:]) {
			if !done {
				t.Errorf("record %d was not started", i+17)
			}
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		for i, done := range start(runs) {
			if id := i + 1; done != locked(id) {
				t.Errorf("record %d: started %v when the locks had gone", id, done)
			}
		}
	})
}

// TestALockedRecordOfAnotherAttempt: nobody waits for it either, though no other of its
// batch has its attempt.
func TestALockedRecordOfAnotherAttempt(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		run(t, db, "INSERT INTO file_download_record (report, attempt) VALUES ('r', 0), ('r', 1), ('r', 2)")
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.Exec("UPDATE file_download_record SET error = 'x' WHERE id = 2"); err != nil {
			t.Fatal(err)
		}
		// The server's own limit is 50 s.
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
		defer cancel()
		started, err := s.Start(ctx, []engine.Run{{ID: "1"}, {ID: "2", Attempt: 1}, {ID: "3", Attempt: 2}})
		if err != nil || !slices.Equal(started, []bool{true, false, true}) {
			t.Error(started, err)
		}
	})
}

// lockWaits counts the connections to the schema that wait for a lock.
func lockWaits(k *Kind) string {
	return of(k, "SELECT COUNT(*) FROM information_schema.INNODB_TRX x JOIN information_schema.PROCESSLIST p ON p.ID = x.trx_mysql_thread_id WHERE x.trx_state = 'LOCK WAIT' AND p.DB = DATABASE()",
		"SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()")
}

// polls is held by the test that asks for lock waits. The server renews INNODB_TRX only if nobody
// has asked for 100 ms.
var polls sync.Mutex

// waitFor polls until the query gives a number above 0.
func waitFor(t *testing.T, db *DB, query string) {
	t.Helper()
	polls.Lock()
	defer polls.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(150 * time.Millisecond)
	defer tick.Stop()
	for {
		var n int
		if err := db.QueryRowContext(ctx, query).Scan(&n); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		if n > 0 {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", query, ctx.Err())
		case <-tick.C:
		}
	}
}

// TestStartWithNext gives a record an attempt of the caller's choice, if it may be started, and
// waits for no lock.
func TestStartWithNext(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		run(t, db, "INSERT INTO file_download_record (id, report, status, attempt, error) VALUES (1, 'r', 'PENDING', 0, 'x'), (2, 'r', 'PROCESSING', 3, NULL), (3, 'r', 'SUCCESS', 0, NULL)")
		for _, c := range []struct {
			run  engine.Run
			as   int64
			want bool
		}{
			{engine.Run{ID: "1"}, 5, true}, {engine.Run{ID: "1"}, 6, false}, {engine.Run{ID: "1", Attempt: 5}, 7, true},
			{engine.Run{ID: "2", Attempt: 2}, 9, false}, {engine.Run{ID: "2", Attempt: 3}, 4, true},
			{engine.Run{ID: "3"}, 1, false}, {engine.Run{ID: "x"}, 1, false}, {engine.Run{ID: "77"}, 1, false},
		} {
			c.run.Next = c.as
			if done, err := s.Start(t.Context(), []engine.Run{c.run}); err != nil || done[0] != c.want {
				t.Errorf("%+v: %v %v", c.run, done, err)
			}
		}
		if r := read(t, s, "1"); r.Status != report.Processing || r.Attempt != 7 || r.Error != "" {
			t.Errorf("%+v", r)
		}
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		if _, err := tx.ExecContext(t.Context(), "SELECT id FROM file_download_record WHERE id = 1 FOR UPDATE"); err != nil {
			t.Fatal(err)
		}
		if done, err := s.Start(t.Context(), []engine.Run{{ID: "1", Attempt: 7, Next: 9}}); err != nil || done[0] {
			t.Error("a locked record is started", err)
		}
	})
}
