package record_test

import (
	"errors"
	"testing"

	"github.com/fanfold/fanfold/engine"
	. "github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

// TestPeople finds the exports of exactly one person, with an index alone.
func TestPeople(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		run(t, db, of(k, "ALTER TABLE file_download_record DROP INDEX owner_id", "DROP INDEX file_download_record_owner_id"))
		insert := func(owner any, status string) {
			run(t, db, "INSERT INTO file_download_record (report, status, owner, file) VALUES ('r', ?, ?, 'gs://b/r/1-1.csv')", status, owner)
		}
		insert("ann", "SUCCESS")   // 1
		insert("Ann", "SUCCESS")   // 2
		insert("ann ", "SUCCESS")  // 3
		insert("ann", "FAILED")    // 4
		insert("ann", "PARTIAL")   // 5
		insert(nil, "SUCCESS")     // 6
		insert("ann", "CANCELLED") // 7
		people := s.People()
		if _, err := people.Newest(t.Context(), "ann", "", 10); !errors.Is(err, ErrNoIndex) {
			t.Error(err)
		}
		run(t, db, "ALTER TABLE file_download_record ADD INDEX report_owner (report, owner)")
		if _, err := people.Newest(t.Context(), "ann", "", 10); !errors.Is(err, ErrNoIndex) {
			t.Error("an index that does not begin with the column:", err)
		}
		run(t, db, "ALTER TABLE file_download_record ADD INDEX owner (owner)")
		for n, want := range map[int]string{10: "7541", 2: "75"} {
			found, err := people.Newest(t.Context(), "ann", "", n)
			got := ""
			for _, r := range found {
				got += r.ID
			}
			if err != nil || got != want {
				t.Errorf("of %d: %s, not %s: %v", n, got, want, err)
			}
		}
		for id, want := range map[string]string{"1": "ann", "2": "Ann", "6": ""} {
			if got, tenant, err := people.Of(t.Context(), id); err != nil || got != want || tenant != "" {
				t.Errorf("%s: %q %v", id, got, err)
			}
		}
		// A person of a tenant is not the person of another tenant, or of none.
		for _, tenant := range []string{"acme", "Acme", ""} { // 8, 9, 10
			run(t, db, "INSERT INTO file_download_record (report, owner, tenant) VALUES ('r', 'ann', ?)", tenant)
		}
		for tenant, want := range map[string]string{"acme": "8", "Acme": "9", "": "107541", "other": ""} {
			found, err := people.Newest(t.Context(), "ann", tenant, 10)
			got := ""
			for _, r := range found {
				got += r.ID
			}
			if err != nil || got != want {
				t.Errorf("of tenant %q: %s, not %s: %v", tenant, got, want, err)
			}
		}
		if got, tenant, err := people.Of(t.Context(), "8"); err != nil || got != "ann" || tenant != "acme" {
			t.Errorf("the owner of 8: %q of %q, %v", got, tenant, err)
		}
		run(t, db, "ALTER TABLE file_download_record ADD COLUMN number BIGINT NULL")
		run(t, db, "ALTER TABLE file_download_record ADD INDEX number (number)")
		run(t, db, "UPDATE file_download_record SET number = 7 WHERE id = 1")
		numbers := store(t, db, report.Records{Columns: map[string]string{"owner": "number"}}).People()
		for person, want := range map[string]int{"7": 1, "07": 0, "ann": 0, "": 0} {
			if found, err := numbers.Newest(t.Context(), person, "", 9); err != nil || len(found) != want {
				t.Errorf("person %q: %d records, %v", person, len(found), err)
			}
		}
		for _, id := range []string{"99", "x"} {
			if _, _, err := people.Of(t.Context(), id); !errors.Is(err, engine.ErrNoRecord) {
				t.Errorf("%s: %v", id, err)
			}
		}
		nobody := store(t, db, report.Records{Columns: map[string]string{"owner": "-"}}).People()
		if got, _, err := nobody.Of(t.Context(), "1"); got != "" || err != nil {
			t.Errorf("the owner where there is no column: %q %v", got, err)
		}
		if found, err := nobody.Newest(t.Context(), "ann", "", 10); len(found) > 0 || err != nil {
			t.Errorf("exports where there is no column: %v %v", found, err)
		}
	})
}
