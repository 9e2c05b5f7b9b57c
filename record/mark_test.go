package record_test

import (
	"testing"

	. "github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

// TestMarks: a row keeps its mark for life, and a row that replaces it has another one.
func TestMarks(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		mark := func(s *Store) Mark {
			t.Helper()
			found, err := s.Marks(t.Context(), "1", "2", "x")
			if err != nil || len(found) != 1 || found["1"] == (Mark{}) {
				t.Fatal(found, err)
			}
			return found["1"]
		}
		const insert = `INSERT INTO file_download_record (id, report, parameters) VALUES (1, 'r', '{"a": 1}')`
		run(t, db, insert)
		first := mark(s)
		run(t, db, "UPDATE file_download_record SET status = 'SUCCESS', attempt = 3, file = 'f', error = 'e', row_count = 7, updated_at = NOW(6) + INTERVAL 1 HOUR")
		if mark(s) != first {
			t.Error("the mark changes with the status")
		}
		run(t, db, "SET SESSION time_zone = '+05:00'")
		if mark(s) != first {
			t.Error("the mark changes with the time zone of the session")
		}
		run(t, db, "DELETE FROM file_download_record")
		run(t, db, insert)
		if mark(s) == first {
			t.Error("a row that was inserted again has the mark of the first one")
		}
		// Without a time of the insert, report and parameters are left.
		blind, err := New(db, report.Records{Columns: map[string]string{"created": of(k, "changed", "-")}})
		if err != nil {
			t.Fatal(err)
		}
		run(t, db, of(k, "ALTER TABLE file_download_record CHANGE created_at changed DATETIME(6) NOT NULL DEFAULT NOW(6) ON UPDATE NOW(6)",
			"ALTER TABLE file_download_record RENAME created_at TO changed"))
		seen := map[Mark]bool{}
		for _, change := range []string{"report = 'r'", "report = 's'", `parameters = '{"a": 2}'`, "parameters = NULL"} {
			run(t, db, "UPDATE file_download_record SET "+change)
			seen[mark(blind)] = true
			run(t, db, "UPDATE file_download_record SET status = 'FAILED', changed = NOW(6) + INTERVAL 1 DAY")
			seen[mark(blind)] = true
		}
		if len(seen) != 4 {
			t.Errorf("4 different rows have %d marks", len(seen))
		}
	})
}

// TestMarksOfDatetimes: a DATETIME has no time zone, so the offset of the session, which changes with daylight
// saving, does not change the mark.
func TestMarksOfDatetimes(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		for name, options := range map[string]report.Records{"found by its name": {}, "mapped": {Columns: map[string]string{"created": "created_at"}}} {
			_, db := own(t, k, report.Records{})
			db.SetMaxOpenConns(1) // SET SESSION is for all that follows
			run(t, db, "ALTER TABLE file_download_record MODIFY created_at DATETIME(6)")
			run(t, db, `INSERT INTO file_download_record (id, report, parameters, created_at) VALUES (1, 'r', '{}', '2026-10-20 12:00:00.5')`)
			s := store(t, db, options)
			seen := map[Mark]bool{}
			for _, statement := range []string{"SET SESSION time_zone = '+02:00'", "SET SESSION time_zone = '+01:00'"} {
				run(t, db, statement)
				found, err := s.Marks(t.Context(), "1")
				if err != nil || len(found) != 1 {
					t.Fatal(found, err)
				}
				seen[found["1"]] = true
			}
			if len(seen) != 1 {
				t.Errorf("%s: the mark changes with the time zone of the session", name)
			}
			run(t, db, "UPDATE file_download_record SET created_at = '2026-10-20 12:00:00.6'")
			found, err := s.Marks(t.Context(), "1")
			if err != nil || seen[found["1"]] {
				t.Errorf("%s: a row of another time has the same mark, %v", name, err)
			}
		}
	})
}
