package record_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/engine/files"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/engine/recovery"
	. "github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

func TestWithoutTables(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, _ := own(t, k, report.Records{})
		_, first := s.Partition(0, 1).Epoch(t.Context())
		_, second := s.Partition(0, 1).SetEpoch(t.Context(), "", "a")
		_, third := s.Partition(0, 1).SnapshotVersion(t.Context())
		_, _, fourth := s.Partition(0, 1).Snapshot(t.Context())
		_, fifth := s.Partition(0, 1).SaveSnapshot(t.Context(), "", "1.a", nil)
		_, sixth := s.Installation(t.Context())
		_, seventh := s.Install(t.Context())
		for _, err := range []error{first, second, third, fourth, fifth, sixth, seventh} {
			if !errors.Is(err, recovery.ErrNoTables) {
				t.Errorf("%v", err)
			}
		}
	})
}

func TestEpochIsSetOnce(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		for i, want := range []int{len(k.Beside(Beside{})), 0} {
			if done, err := MigrateTables(t.Context(), db, ""); err != nil || len(done) != want {
				t.Fatalf("call %d: %q %v", i, done, err)
			}
		}
		if v, err := s.Partition(0, 1).Epoch(t.Context()); err != nil || v != "" {
			t.Errorf("%q %v", v, err)
		}
		for _, step := range []struct {
			before, now string
			want        bool
		}{{"x", "a", false}, {"", "a", true}, {"", "b", false}, {"x", "b", false}, {"a", "b", true}, {"a", "c", false}} {
			if done := ok(t)(s.Partition(0, 1).SetEpoch(t.Context(), step.before, step.now)); done != step.want {
				t.Errorf("%+v: %v", step, done)
			}
		}
		// A record table of its own has a memory of its own.
		other := store(t, db, report.Records{Table: "other"})
		if v, err := other.Partition(0, 1).Epoch(t.Context()); err != nil || v != "" {
			t.Errorf("other: %q %v", v, err)
		}
		if v, err := s.Partition(0, 1).Epoch(t.Context()); err != nil || v != "b" {
			t.Errorf("%q %v", v, err)
		}
	})
}

// TestInstall: all processes of an installation get the same tag, and those of another
// record table in the same schema another one.
func TestInstall(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		if _, err := MigrateTables(t.Context(), db, ""); err != nil {
			t.Fatal(err)
		}
		if tag, err := s.Installation(t.Context()); tag != "" || err != nil {
			t.Fatalf("before there is one: %q %v", tag, err)
		}
		tags := make([]string, 8)
		var group errgroup.Group
		for i := range tags {
			group.Go(func() (err error) {
				tags[i], err = store(t, db, report.Records{}).Install(t.Context())
				return err
			})
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
		if tag, err := s.Installation(t.Context()); err != nil || !files.ValidTag(tag) || len(slices.Compact(append(tags, tag))) != 1 {
			t.Errorf("%q %q %v", tags, tag, err)
		}
		if _, err := Migrate(t.Context(), db, "other"); err != nil {
			t.Fatal(err)
		}
		if tag, err := store(t, db, report.Records{Table: "other"}).Install(t.Context()); err != nil || tag == tags[0] {
			t.Errorf("%q %v", tag, err)
		}
		run(t, db, "UPDATE fanfold_meta SET value = 'x' WHERE name LIKE '%installation'")
		if _, err := s.Install(t.Context()); err == nil || !strings.Contains(err.Error(), "delete the row") {
			t.Errorf("%v", err)
		}
	})
}

// TestNotePartitions keeps a process from working with another number than jobs were started with,
// also by a version that noted none.
func TestNotePartitions(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		if _, err := MigrateTables(t.Context(), db, ""); err != nil {
			t.Fatal(err)
		}
		note := func(now, want string, wrong error) {
			t.Helper()
			if got, err := s.NotePartitions(t.Context(), now); got != want || !errors.Is(err, wrong) {
				t.Errorf("%s: %q %v", now, got, err)
			}
		}
		ok(t)(s.Partition(0, 1).SetEpoch(t.Context(), "", "a"))
		note("4 tagged", "1", ErrPartitions)
		note("1", "1", nil)
		note("4 tagged", "1", ErrPartitions)
		if err := s.SetPartitions(t.Context(), "4 tagged"); err != nil {
			t.Fatal(err)
		}
		note("4 tagged", "4 tagged", nil)
		note("1", "4 tagged", ErrPartitions)
		if epoch, err := s.Partition(0, 1).Epoch(t.Context()); epoch != "" || err != nil {
			t.Errorf("the epoch is kept: %q %v", epoch, err)
		}
	})
}
