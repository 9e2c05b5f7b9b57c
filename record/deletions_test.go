package record_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	. "github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

// deleted returns which of these ids are deleted.
func deleted(t *testing.T, s *Store, ids ...string) []string {
	t.Helper()
	found, err := s.Deletions().Deleted(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(found))
}

// TestDeleted: an id is deleted if it has no row and a later one has. A row that the filter hides
// exists, and so does one whose id the database calls equal.
func TestDeleted(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{Filter: "report <> 'other'"})
		if got := deleted(t, s, "1"); got != nil {
			t.Errorf("an empty table says of its last rows nothing: %v", got)
		}
		run(t, db, "INSERT INTO file_download_record (id, report) VALUES (2, 'r'), (4, 'other'), (9, 'other')")
		if diff := cmp.Diff([]string{"1", "3", "8"}, deleted(t, s, "1", "2", "3", "4", "8", "9", "10", "11", "x", "03", "-1x", fmt.Sprint(most(k)))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		last, previous := fmt.Sprint(most(k)), fmt.Sprint(most(k)-1)
		run(t, db, "INSERT INTO file_download_record (id, report) VALUES ("+last+", 'r')")
		if diff := cmp.Diff([]string{"10", previous}, deleted(t, s, "9", "10", previous, last)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		run(t, db, "RENAME TABLE file_download_record TO every_record")
		run(t, db, "CREATE VIEW file_download_record AS SELECT * FROM every_record WHERE id <> 2")
		if got := deleted(t, s, "1", "2", "3"); got != nil {
			t.Errorf("a row can leave a view undeleted: %v", got)
		}
		run(t, db, "DROP VIEW file_download_record")
		if got := deleted(t, s, "1", "2", "3"); got != nil {
			t.Errorf("without a table %v are deleted", got)
		}
		_ = db.Close()
		if found, err := s.Deletions().Deleted(t.Context(), []string{"1"}); err == nil || len(found) > 0 {
			t.Errorf("without a database: %v, %v", found, err)
		}
	})
}

// TestDeletedOfTextIDs: the database compares and orders them.
func TestDeletedOfTextIDs(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		schema, db := pool(t, k)
		run(t, db, foreign)
		run(t, db, "INSERT INTO `Downloads` (`key`, kind, state, owner, url) VALUES ('b', 'r', 2, 'fanfold', 'file:///s/r/a-1-abc234.csv'), ('d', 'r', 2, 'other', NULL), ('k', 'r', 2, 'x?', NULL)")
		s := store(t, db, foreignOptions(schema+".Downloads"))
		if diff := cmp.Diff(of(k, []string{"a", "c", "h-1"}, []string{"B", "D", "a", "c", "h-1"}), deleted(t, s, "a", "b", "B", "c", "d", "D", "h-1", "k", "l", "z")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		files := []string{"file:///s/r/a-1-abc234.csv", "file:///s/r/c-1-abc234.csv"}
		pointed, err := s.Deletions().Pointed(t.Context(), files)
		if err != nil || !pointed[files[0]] || pointed[files[1]] {
			t.Errorf("%v, %v", pointed, err)
		}
	})
}

// TestUnbroken: sweeps are noted in the database, and a gap, as a backup leaves it, begins anew.
func TestUnbroken(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		unbroken := func() time.Duration {
			t.Helper()
			age, err := s.Deletions().Unbroken(t.Context(), 3*24*time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			return age.Round(time.Hour)
		}
		if _, err := s.Deletions().Unbroken(t.Context(), time.Hour); err == nil {
			t.Error("no error without tables")
		}
		if _, err := MigrateTables(t.Context(), db, ""); err != nil {
			t.Fatal(err)
		}
		if age := unbroken(); age != 0 {
			t.Errorf("the first: %v", age)
		}
		note := func(since, last time.Duration) {
			t.Helper()
			now := time.Now()
			run(t, db, "UPDATE fanfold_meta SET value = ? WHERE name = 'file_download_record sweeps'",
				fmt.Sprint(now.Add(-since).Unix(), " ", now.Add(-last).Unix()))
		}
		const day = 24 * time.Hour
		note(40*day, 2*day)
		for range 2 {
			if age := unbroken(); age != 40*day {
				t.Errorf("unbroken for %v", age)
			}
		}
		note(42*day, 0)
		if age := unbroken(); age != 42*day {
			t.Errorf("a second sweep at once: %v", age)
		}
		for _, last := range []time.Duration{4 * day, -4 * day} {
			note(40*day, last)
			if age := unbroken(); age != 0 {
				t.Errorf("after a gap of %v: %v", last, age)
			}
		}
		run(t, db, "UPDATE fanfold_meta SET value = 'x' WHERE name = 'file_download_record sweeps'")
		if age := unbroken(); age != 0 {
			t.Errorf("another value: %v", age)
		}
	})
}
