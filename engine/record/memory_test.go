package record

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/recovery"
)

func TestMemoryWithoutItsTables(t *testing.T) {
	t.Parallel()
	s, _ := own(t, config.Records{})
	_, first := s.Epoch(t.Context())
	_, second := s.SetEpoch(t.Context(), "", "a")
	_, third := s.Dues(t.Context(), "set", "", 1)
	_, fourth := s.Mirrored(t.Context())
	_, fifth := s.SaveDues(t.Context(), 1, "set", []recovery.Due{{Member: "a"}}, nil)
	_, sixth := s.Installation(t.Context())
	_, seventh := s.Install(t.Context())
	for _, err := range []error{first, second, third, fourth, fifth, sixth, seventh} {
		if !errors.Is(err, recovery.ErrNoTables) {
			t.Errorf("%v", err)
		}
	}
}

func TestEpochIsSetOnce(t *testing.T) {
	t.Parallel()
	s, db := own(t, config.Records{})
	for i, want := range []int{len(memoryMigrations("")), 0} {
		if done, err := MigrateMemory(t.Context(), db, ""); err != nil || len(done) != want {
			t.Fatalf("call %d: %q %v", i, done, err)
		}
	}
	if v, err := s.Epoch(t.Context()); err != nil || v != "" {
		t.Errorf("%q %v", v, err)
	}
	for _, step := range []struct {
		before, now string
		want        bool
	}{{"x", "a", false}, {"", "a", true}, {"", "b", false}, {"x", "b", false}, {"a", "b", true}, {"a", "c", false}} {
		if done := ok(t)(s.SetEpoch(t.Context(), step.before, step.now)); done != step.want {
			t.Errorf("%+v: %v", step, done)
		}
	}
	// A record table of its own has a memory of its own.
	other := store(t, db, config.Records{Table: "other"})
	if v, err := other.Epoch(t.Context()); err != nil || v != "" {
		t.Errorf("other: %q %v", v, err)
	}
	if v, err := s.Epoch(t.Context()); err != nil || v != "b" {
		t.Errorf("%q %v", v, err)
	}
}

func TestDues(t *testing.T) {
	t.Parallel()
	s, db := own(t, config.Records{})
	if _, err := MigrateMemory(t.Context(), db, ""); err != nil {
		t.Fatal(err)
	}
	var put []recovery.Due
	for i := range 2500 {
		put = append(put, recovery.Due{Member: fmt.Sprintf("%04d", i), At: int64(i)})
	}
	number := int64(8) // and then 9 and 10: numbers, not words
	save := func(set string, put []recovery.Due, remove ...string) {
		t.Helper()
		if !ok(t)(s.SaveDues(t.Context(), number, set, put, remove)) {
			t.Fatalf("number %d is refused", number)
		}
		if n, err := s.Mirrored(t.Context()); err != nil || n != number {
			t.Fatalf("number %d: %d %v", number, n, err)
		}
		number++
	}
	if n, err := s.Mirrored(t.Context()); err != nil || n != 0 {
		t.Fatalf("at first %d %v", n, err)
	}
	save("a", put)
	save("b", []recovery.Due{{Member: "A", At: -1}, {Member: "a", At: 1 << 60}, {Member: "a ", At: 3}, {Member: "\xff/", At: 4}})
	save("a", []recovery.Due{{Member: "0001", At: 7}}, "0000", "0002", "none")
	for _, old := range []int64{9, 10} {
		if ok(t)(s.SaveDues(t.Context(), old, "a", put, nil)) {
			t.Errorf("number %d is not refused after 10", old)
		}
	}
	var all []recovery.Due
	for after := ""; ; after = all[len(all)-1].Member {
		page, err := s.Dues(t.Context(), "a", after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, page...); len(page) < 1000 {
			break
		}
	}
	want := append([]recovery.Due{{Member: "0001", At: 7}}, put[3:]...)
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b, err := s.Dues(t.Context(), "b", "", 10)
	if diff := cmp.Diff([]recovery.Due{{Member: "A", At: -1}, {Member: "a", At: 1 << 60}, {Member: "a ", At: 3}, {Member: "\xff/", At: 4}}, b); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestInstall: all processes of an installation get the same tag, and those of another
// record table in the same schema another one.
func TestInstall(t *testing.T) {
	t.Parallel()
	s, db := own(t, config.Records{})
	if _, err := MigrateMemory(t.Context(), db, ""); err != nil {
		t.Fatal(err)
	}
	if tag, err := s.Installation(t.Context()); tag != "" || err != nil {
		t.Fatalf("before there is one: %q %v", tag, err)
	}
	tags := make([]string, 8)
	var group errgroup.Group
	for i := range tags {
		group.Go(func() (err error) {
			tags[i], err = store(t, db, config.Records{}).Install(t.Context())
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if tag, err := s.Installation(t.Context()); err != nil || !engine.ValidTag(tag) || len(slices.Compact(append(tags, tag))) != 1 {
		t.Errorf("%q %q %v", tags, tag, err)
	}
	if _, err := Migrate(t.Context(), db, "other"); err != nil {
		t.Fatal(err)
	}
	if tag, err := store(t, db, config.Records{Table: "other"}).Install(t.Context()); err != nil || tag == tags[0] {
		t.Errorf("%q %v", tag, err)
	}
	run(t, db, "UPDATE fanfold_meta SET value = 'x' WHERE name LIKE '%installation'")
	if _, err := s.Install(t.Context()); err == nil || !strings.Contains(err.Error(), "delete the row") {
		t.Errorf("%v", err)
	}
}
