package record_test

import (
	"errors"
	"testing"

	"github.com/fanfold/fanfold/engine/recovery"
	"github.com/fanfold/fanfold/internal/stored"
	. "github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

// TestNoteVersion: the version of what the tables contain is stored if there is none;
// what a newer release has stored is neither read nor replaced.
func TestNoteVersion(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		if err := s.NoteVersion(t.Context()); !errors.Is(err, recovery.ErrNoTables) {
			t.Errorf("without tables: %v", err)
		}
		if _, err := MigrateTables(t.Context(), db, ""); err != nil {
			t.Fatal(err)
		}
		part := s.Partition(0, 1)
		for range 2 {
			if err := s.NoteVersion(t.Context()); err != nil {
				t.Error(err)
			}
			if v, err := s.CheckVersions(t.Context()); err != nil || v.Snapshot != stored.Snapshot.Writes || v.Steps != v.KnownSteps {
				t.Errorf("%+v %v", v, err)
			}
		}
		save := func(before, now string) (bool, error) {
			return part.SaveSnapshot(t.Context(), before, now, []recovery.Part{{Members: 1, Data: []byte(now)}})
		}
		if ok, err := save("", "1.a"); !ok || err != nil {
			t.Fatal(ok, err)
		}
		run(t, db, "UPDATE fanfold_meta SET value = '2' WHERE name = 'file_download_record version'")
		if err := s.NoteVersion(t.Context()); !stored.IsNewer(err) {
			t.Errorf("%v", err)
		}
		if _, err := s.CheckVersions(t.Context()); !stored.IsNewer(err) {
			t.Errorf("%v", err)
		}
		if _, _, err := part.Snapshot(t.Context()); !stored.IsNewer(err) {
			t.Errorf("the snapshot is read: %v", err)
		}
		if ok, err := save("1.a", "2.b"); ok || !stored.IsNewer(err) {
			t.Errorf("the snapshot is replaced: %v %v", ok, err)
		}
		run(t, db, "UPDATE fanfold_meta SET value = 'x' WHERE name = 'file_download_record version'")
		if err := s.NoteVersion(t.Context()); err == nil || stored.IsNewer(err) {
			t.Errorf("%v", err)
		}
		run(t, db, "UPDATE fanfold_meta SET value = '1' WHERE name = 'file_download_record version'")
		if version, parts, err := part.Snapshot(t.Context()); version != "1.a" || len(parts) != 1 || string(parts[0].Data) != "1.a" || err != nil {
			t.Errorf("%q %+v %v", version, parts, err)
		}
	})
}

// TestTablesOfANewerRelease: steps that a newer release has made are no obstacle, unless it says that
// this one cannot use the tables.
func TestTablesOfANewerRelease(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		migrate := func() error {
			_, err := Migrate(t.Context(), db, "")
			_, also := MigrateTables(t.Context(), db, "")
			return errors.Join(err, also)
		}
		if err := migrate(); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"fanfold_migrations", "file_download_record_migrations"} {
			run(t, db, "INSERT INTO "+table+" (version_id, needs) VALUES (90, 1)")
			if err := migrate(); err != nil {
				t.Errorf("%s: %v", table, err)
			}
			if _, err := s.CheckVersions(t.Context()); err != nil {
				t.Errorf("%s: %v", table, err)
			}
			run(t, db, "INSERT INTO "+table+" (version_id, needs) VALUES (91, 91)")
			if err := migrate(); !stored.IsNewer(err) {
				t.Errorf("%s: %v", table, err)
			}
			if _, err := s.CheckVersions(t.Context()); !stored.IsNewer(err) {
				t.Errorf("%s: %v", table, err)
			}
			run(t, db, "DELETE FROM "+table+" WHERE version_id > 89")
		}
	})
}
