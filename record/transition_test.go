package record_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/engine"
	. "github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

// TestTransitions proves the conditions: every operation from every status, with
// the record's attempt and with another one.
func TestTransitions(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		all := []report.Status{report.Pending, report.Processing, report.Success, report.Partial, report.Failed, report.Cancelled, "ODD"}
		operations := []struct {
			name string
			from []report.Status
			do   func(run engine.Run) (bool, error)
			want func(before engine.Record) engine.Record
		}{
			{"start", []report.Status{report.Pending, report.Processing}, func(run engine.Run) (bool, error) {
				done, err := s.Start(t.Context(), []engine.Run{run})
				return len(done) == 1 && done[0], err
			}, func(r engine.Record) engine.Record {
				r.Status, r.Attempt, r.Error = report.Processing, r.Attempt+1, ""
				return r
			}},
			{"succeed", []report.Status{report.Processing}, func(run engine.Run) (bool, error) {
				return s.Succeed(t.Context(), run, "new.csv", 7)
			}, func(r engine.Record) engine.Record {
				r.Status, r.File, r.Error, r.Rows = report.Success, "new.csv", "", new(int64(7))
				return r
			}},
			{"succeed partly", []report.Status{report.Processing}, func(run engine.Run) (bool, error) {
				return s.SucceedPartly(t.Context(), run, "new.csv", 7, "without one")
			}, func(r engine.Record) engine.Record {
				r.Status, r.File, r.Error, r.Rows = report.Partial, "new.csv", "without one", new(int64(7))
				return r
			}},
			{"fail", []report.Status{report.Processing}, func(run engine.Run) (bool, error) {
				return s.Fail(t.Context(), run, "new reason")
			}, func(r engine.Record) engine.Record {
				r.Status, r.File, r.Error = report.Failed, "", "new reason"
				return r
			}},
			{"fail without a job", []report.Status{report.Pending, report.Processing}, func(run engine.Run) (bool, error) {
				run.Pending = true
				return s.Fail(t.Context(), run, "new reason")
			}, func(r engine.Record) engine.Record {
				r.Status, r.File, r.Error = report.Failed, "", "new reason"
				return r
			}},
			{"cancel without a job", []report.Status{report.Pending, report.Processing}, func(run engine.Run) (bool, error) {
				run.Pending = true
				return s.Cancel(t.Context(), run, "new reason")
			}, func(r engine.Record) engine.Record {
				r.Status, r.File, r.Error = report.Cancelled, "", "new reason"
				return r
			}},
		}
		id := 0
		for _, op := range operations {
			for _, status := range all {
				for _, late := range []bool{false, true} {
					id++
					name := fmt.Sprintf("%s from %s, late %v", op.name, status, late)
					run(t, db, "INSERT INTO file_download_record (id, report, parameters, status, attempt, file, error) VALUES (?, 'r', '{\"a\":1}', ?, 3, 'old.csv', 'old reason')", id, string(status))
					before := read(t, s, fmt.Sprint(id))
					want, wantDone := before, false
					for _, from := range op.from {
						if from == status && !late {
							want, wantDone = op.want(before), true
						}
					}
					attempt := int64(3)
					if late {
						attempt = 2
					}
					// A failed record of this attempt is what fail would have made.
					again := !late && (strings.HasPrefix(op.name, "fail") && status == report.Failed || strings.HasPrefix(op.name, "cancel") && status == report.Cancelled)
					if done := ok(t)(op.do(engine.Run{ID: fmt.Sprint(id), Attempt: attempt})); done != (wantDone || again) {
						t.Errorf("%s: %v", name, done)
					}
					if diff := cmp.Diff(want, read(t, s, fmt.Sprint(id))); diff != "" {
						t.Errorf("%s (-want +got):\n%s", name, diff)
					}
				}
			}
		}
		if done := ok(t)(s.Fail(t.Context(), engine.Run{ID: "999999", Attempt: 3}, "")); done {
			t.Error("a record that is not there failed")
		}
	})
}

func TestChangesThatAreRepeated(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		run(t, db, "INSERT INTO file_download_record (id, report, status, attempt) VALUES (1, 'r', 'PROCESSING', 2), (2, 'r', 'PROCESSING', 2), (3, 'r', 'PROCESSING', 2), (4, 'r', 'PENDING', 0)")
		one, two := engine.Run{ID: "1", Attempt: 2}, engine.Run{ID: "2", Attempt: 2}
		three, four := engine.Run{ID: "3", Attempt: 2}, engine.Run{ID: "4", Pending: true}
		for range 2 {
			if !ok(t)(s.SucceedPartly(t.Context(), three, "c.csv", 5, "without a")) || !ok(t)(s.Cancel(t.Context(), four, "why")) {
				t.Error("a repetition was refused")
			}
			if !ok(t)(s.Succeed(t.Context(), one, "a.csv", 5)) || !ok(t)(s.Fail(t.Context(), two, "why")) {
				t.Error("a repetition was refused")
			}
		}
		var rows int64
		if err := db.QueryRow("SELECT row_count FROM file_download_record WHERE id = 1").Scan(&rows); err != nil || rows != 5 {
			t.Errorf("row_count %d, %v", rows, err)
		}
		if ok(t)(s.Succeed(t.Context(), one, "b.csv", 5)) {
			t.Error("another file was taken for the same")
		}
		if ok(t)(s.SucceedPartly(t.Context(), three, "d.csv", 5, "without a")) || ok(t)(s.Succeed(t.Context(), three, "c.csv", 5)) ||
			ok(t)(s.Cancel(t.Context(), three, "late")) || ok(t)(s.Fail(t.Context(), four, "late")) {
			t.Error("a final status was overwritten, or taken for another one")
		}
		if ok(t)(s.Fail(t.Context(), one, "late")) || ok(t)(s.Succeed(t.Context(), two, "a.csv", 5)) {
			t.Error("a final status was overwritten")
		}
		if ok(t)(s.Fail(t.Context(), engine.Run{ID: "2", Attempt: 1}, "why")) {
			t.Error("another attempt was taken for the same")
		}
	})
}

func TestReasonsFitTheirColumn(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		_, db := pool(t, k)
		const long = "Ünïcödé 😀 "
		for _, test := range []struct {
			column string
			want   func(string) bool
		}{
			{"TEXT", func(s string) bool { return len(s) <= 4000 && len(s) > 3990 && strings.HasPrefix(s, long) }},
			{"VARCHAR(20)", func(s string) bool { return utf8.RuneCountInString(s) == 20 && strings.HasPrefix(s, long) }},
			{of(k, "VARCHAR(20) CHARACTER SET latin1", ""), func(s string) bool { return s == "?n?c?d? ? ?n" }},
			{of(k, "TINYTEXT", ""), func(s string) bool { return len(s) <= 255 && utf8.ValidString(s) }},
		} {
			if test.column == "" {
				continue
			}
			run(t, db, "DROP TABLE IF EXISTS t")
			run(t, db, "CREATE TABLE t (id INT PRIMARY KEY, report TEXT, status TEXT, attempt INT, file TEXT, updated_at DATETIME, error "+test.column+")")
			run(t, db, "INSERT INTO t VALUES (1, 'r', 'PENDING', 0, NULL, NOW(), NULL)")
			s := store(t, db, report.Records{Table: "t", Columns: map[string]string{"parameters": "-", "rows": "-"}})
			if !ok(t)(s.Fail(t.Context(), engine.Run{ID: "1", Pending: true}, strings.Repeat(long, 1000)+"\xff")) {
				t.Errorf("%s: not failed", test.column)
			}
			if r := read(t, s, "1"); !test.want(r.Error) {
				t.Errorf("%s: %q", test.column, r.Error)
			}
		}
	})
}

func TestRetry(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		for i, status := range []report.Status{report.Success, report.Partial, report.Failed, report.Cancelled, report.Pending, report.Processing, "ODD"} {
			run(t, db, "INSERT INTO file_download_record (id, report, status, attempt, file, error) VALUES (?, 'r', ?, 4, 'f', 'e')", i+1, string(status))
			r, err := s.Retry(t.Context(), fmt.Sprint(i+1))
			r.Age, r.Created = 0, 0
			switch {
			case i < 4:
				want := engine.Record{ID: fmt.Sprint(i + 1), Report: "r", Status: report.Pending, Attempt: 4, File: "f"}
				if diff := cmp.Diff(want, r); err != nil || diff != "" {
					t.Errorf("from %s: %v (-want +got):\n%s", status, err, diff)
				}
			case i < 6:
				if !errors.Is(err, ErrRunning) || r.Status != status {
					t.Errorf("from %s: %v, %v", status, r, err)
				}
			default:
				if err == nil || read(t, s, "7").Status != "ODD" {
					t.Errorf("from %s: %v", status, err)
				}
			}
		}
		for _, id := range []string{"77", "01", "x"} {
			if _, err := s.Retry(t.Context(), id); !errors.Is(err, engine.ErrNoRecord) {
				t.Errorf("retry of %s: %v", id, err)
			}
		}
	})
}

func TestAFileThatDoesNotFitIsRefused(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		run(t, db, "ALTER TABLE "+report.DefaultTable+" MODIFY file VARCHAR(10) NULL")
		id, err := s.Insert(t.Context(), Request{Report: "r", Parameters: []byte("{}")})
		if err != nil {
			t.Fatal(err)
		}
		if started, err := s.Start(t.Context(), []engine.Run{{ID: id}}); err != nil || !started[0] {
			t.Fatal(started, err)
		}
		job := engine.Run{ID: id, Attempt: 1}
		if done, err := s.Succeed(t.Context(), job, "gs://b/1.csv", 1); done || !errors.Is(err, engine.ErrRefused) {
			t.Errorf("%v %v", done, err)
		}
		if r := read(t, s, id); r.Status != report.Processing {
			t.Errorf("%+v", r)
		}
		if done, err := s.Succeed(t.Context(), job, "gs://b/1.x", 1); !done || err != nil {
			t.Errorf("%v %v", done, err)
		}
	})
}

// TestNoFileWithoutNull: what fails or is cancelled loses file and rows, also where their
// columns take no NULL.
func TestNoFileWithoutNull(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		for name, columns := range map[string]string{
			"null": "", "not null": "ALTER TABLE file_download_record MODIFY file VARCHAR(99) NOT NULL, MODIFY row_count BIGINT NOT NULL",
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s, db := own(t, k, report.Records{})
				if columns != "" {
					run(t, db, columns)
				}
				run(t, db, "INSERT INTO file_download_record (id, report, status, attempt, file, row_count) VALUES (1, 'r', 'PENDING', 1, 'a', 7), (2, 'r', 'PROCESSING', 1, 'b', 7)")
				if !ok(t)(s.Cancel(t.Context(), engine.Run{ID: "1", Attempt: 1, Pending: true}, "why")) || !ok(t)(s.Fail(t.Context(), engine.Run{ID: "2", Attempt: 1, Pending: true}, "why")) {
					t.Error("not ended")
				}
				var left, null int
				if err := db.QueryRowContext(t.Context(), "SELECT COUNT(NULLIF(file, '')) + COUNT(NULLIF(row_count, 0)), SUM(CASE WHEN file IS NULL AND row_count IS NULL THEN 1 ELSE 0 END) FROM file_download_record").Scan(&left, &null); err != nil {
					t.Fatal(err)
				}
				if left != 0 || (null == 2) != (columns == "") {
					t.Errorf("%d values are left, %d rows have NULL", left, null)
				}
			})
		}
	})
}
