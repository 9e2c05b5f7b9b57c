package record_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/recovery"
	. "github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

func TestSharers(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{Filter: "report <> 'other'"})
		h := s.Sharing()
		if found, err := h.Sharers(t.Context(), []string{"f"}); err != nil || found != nil {
			t.Errorf("without the table: %v %v", found, err)
		}
		if err := h.Share(t.Context(), "f", []string{"1"}); !errors.Is(err, recovery.ErrNoTables) {
			t.Errorf("without the table: %v", err)
		}
		if err := s.CheckSharing(t.Context()); !errors.Is(err, recovery.ErrNoTables) {
			t.Errorf("without the table: %v", err)
		}
		if _, err := MigrateTables(t.Context(), db, ""); err != nil {
			t.Fatal(err)
		}
		if err := s.CheckSharing(t.Context()); err != nil {
			t.Error(err)
		}
		run(t, db, `INSERT INTO file_download_record (id, report, status, file) VALUES (1, 'r', 'SUCCESS', 'f'),
			(2, 'r', 'SUCCESS', 'f'), (3, 'r', 'SUCCESS', 'g'), (4, 'other', 'SUCCESS', 'f'), (5, 'r', 'PENDING', NULL)`)
		for range 2 { // it may be repeated, also with another id
			if err := h.Share(t.Context(), "f", []string{"2", "3", "4", "5", "6"}); err != nil {
				t.Fatal(err)
			}
		}
		if err := h.Share(t.Context(), "f", []string{"6", "7"}); err != nil {
			t.Fatal(err)
		}
		sharers := func(file string) []string {
			t.Helper()
			found, err := h.Sharers(t.Context(), []string{"f", "g", "F"})
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(found[file])
			return found[file]
		}
		if diff := cmp.Diff([]string{"2", "3", "4", "5", "6", "7"}, sharers("f")); diff != "" {
			t.Errorf("within the hour (-want +got):\n%s", diff)
		}
		old := "UPDATE fanfold_shared SET made = made - INTERVAL 2 HOUR"
		if k.Name == "postgres" {
			old = "UPDATE fanfold_shared SET made = made - interval '2 hours'"
		}
		run(t, db, old)
		if diff := cmp.Diff([]string{"2", "4"}, sharers("f")); diff != "" {
			t.Errorf("after the hour (-want +got):\n%s", diff)
		}
		if got := append(sharers("g"), sharers("F")...); got != nil {
			t.Errorf("of other files: %q", got)
		}
		for id, want := range map[string]bool{"1": false, "2": true, "3": false, "02": false} {
			if got, err := h.Shares(t.Context(), "f", id); err != nil || got != want {
				t.Errorf("%s: %v %v", id, got, err)
			}
		}
		if err := h.Unshare(t.Context(), []string{"f", "g"}); err != nil || sharers("f") != nil {
			t.Error(err)
		}
		_ = db.Close()
		if _, err := h.Sharers(t.Context(), []string{"f"}); err == nil {
			t.Error("without a database, no file is shared")
		}
	})
}

func TestNoteOnPendingRecords(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		run(t, db, `INSERT INTO file_download_record (id, report, status, attempt) VALUES (1, 'r', 'PENDING', 0),
			(2, 'r', 'PENDING', 1), (3, 'r', 'PROCESSING', 0)`)
		err := s.Note(t.Context(), []engine.Run{{ID: "1"}, {ID: "2"}, {ID: "3"}, {ID: "4"}}, "waiting for 9")
		if err != nil {
			t.Fatal(err)
		}
		found, err := s.Read(t.Context(), []string{"1", "2", "3"})
		if err != nil || found["1"].Error != "waiting for 9" || found["1"].Status != report.Pending ||
			found["2"].Error != "" || found["3"].Error != "" {
			t.Errorf("%+v %v", found, err)
		}
		if started, err := s.Start(t.Context(), []engine.Run{{ID: "1"}}); err != nil || !started[0] {
			t.Fatal(started, err)
		}
		if found, err = s.Read(t.Context(), []string{"1"}); err != nil || found["1"].Error != "" {
			t.Errorf("%+v %v", found, err)
		}
	})
}

func TestOwnersOfRecords(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{Columns: map[string]string{"owner": "person"}})
		run(t, db, "ALTER TABLE file_download_record ADD COLUMN person VARCHAR(40) NULL")
		run(t, db, `INSERT INTO file_download_record (id, report, person) VALUES (1, 'r', 'ann'), (2, 'r', NULL)`)
		found, err := s.Read(t.Context(), []string{"1", "2"})
		if err != nil || found["1"].Owner != "ann" || found["2"].Owner != "" {
			t.Errorf("%+v %v", found, err)
		}
	})
	if _, err := New(&DB{Kind: all[0]}, report.Records{Columns: map[string]string{"owner": "a b"}}); err == nil {
		t.Error("a name of a column has a space")
	}
}

// TestSharersWithoutAGrant: an account that never could read the table has shared nothing. Later, the grant may have
// been revoked by mistake, and files that others share are not deleted.
func TestSharersWithoutAGrant(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		schema, admin := pool(t, k)
		if _, err := Migrate(t.Context(), admin, ""); err != nil {
			t.Fatal(err)
		}
		beside(t, admin)
		s := store(t, connect(t, k, account(t, admin, schema, "SELECT ON file_download_record")), report.Records{})
		h := s.Sharing()
		if found, err := h.Sharers(t.Context(), []string{"f"}); err != nil || found != nil {
			t.Errorf("without a grant: %v %v", found, err)
		}
		if err := h.Unshare(t.Context(), []string{"f"}); err != nil {
			t.Errorf("without a grant: %v", err)
		}
		if got, err := h.Shares(t.Context(), "f", "1"); err != nil || got {
			t.Errorf("without a grant: %v %v", got, err)
		}
		if err := s.CheckSharing(t.Context()); !errors.Is(err, recovery.ErrNoTables) {
			t.Errorf("without a grant: %v", err)
		}
		all := store(t, connect(t, k, account(t, admin, schema, "SELECT ON file_download_record", "SELECT ON fanfold_shared")), report.Records{})
		h = all.Sharing()
		if _, err := h.Sharers(t.Context(), []string{"f"}); err != nil {
			t.Error(err)
		}
		run(t, admin, "ALTER TABLE fanfold_shared RENAME TO fanfold_hidden")
		if found, err := h.Sharers(t.Context(), []string{"f"}); err == nil {
			t.Errorf("after the table was lost: %v", found)
		}
	})
}
