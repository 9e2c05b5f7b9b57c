package record

import (
	"bytes"
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/engine/recovery"
	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
)

func part(set string, number int, data string) recovery.Part {
	p := recovery.Part{Set: set, Number: number, Members: len(data)}
	if data != "" {
		p.Data = []byte(data)
	}
	return p
}

// TestSnapshot: a snapshot replaces the one before, in parts or as a whole, if nobody
// else has; and what it has is of one moment.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	s, db := own(t, config.Records{})
	if _, err := MigrateTables(t.Context(), db, ""); err != nil {
		t.Fatal(err)
	}
	has := func(s *Store, version string, want ...recovery.Part) {
		t.Helper()
		got, parts, err := s.Snapshot(t.Context())
		if err != nil || got != version {
			t.Fatalf("version %q, want %q, %v", got, version, err)
		}
		if diff := cmp.Diff(want, parts); diff != "" {
			t.Errorf("version %s (-want +got):\n%s", version, diff)
		}
		members := 0
		for _, p := range want {
			members += p.Members
		}
		if n, err := s.SnapshotMembers(t.Context()); err != nil || n != members {
			t.Errorf("version %s: %d members, want %d, %v", version, n, members, err)
		}
		if got, err := s.SnapshotVersion(t.Context()); err != nil || got != version {
			t.Errorf("version %q, want %q, %v", got, version, err)
		}
	}
	save := func(want bool, before, now string, whole bool, parts ...recovery.Part) {
		t.Helper()
		if saved := ok(t)(s.SaveSnapshot(t.Context(), before, now, parts, whole)); saved != want {
			t.Fatalf("%s after %s: %v", now, before, saved)
		}
	}
	has(s, "")
	save(false, "1.a", "2.a", true, part("delayed", 0, "x"))
	var many []recovery.Part
	for i := range 3*snapshotRows + 1 {
		many = append(many, part("delayed", i, "\xff\x00 "))
	}
	save(true, "", "1.a", true, append(many, part("timers:paused", 0, "p"))...)
	has(s, "1.a", append(many, part("timers:paused", 0, "p"))...)
	save(false, "", "1.b", true, part("delayed", 0, "x"))
	save(false, "1.b", "2.b", true, part("delayed", 0, "x"))
	save(true, "1.a", "2.a", false, part("delayed", 0, "x"), part("delayed", 2, ""), part("timers:paused", 0, ""), part("paused", 0, "y"))
	has(s, "2.a", append([]recovery.Part{part("delayed", 0, "x"), many[1]}, append(many[3:], part("paused", 0, "y"))...)...)
	save(true, "2.a", "3.a", true, part("delayed", 0, "z"))
	has(s, "3.a", part("delayed", 0, "z"))
	// A record table of its own has a snapshot of its own.
	other := store(t, db, config.Records{Table: "other"})
	has(other, "")
	if !ok(t)(other.SaveSnapshot(t.Context(), "", "1.o", []recovery.Part{part("delayed", 0, "o")}, true)) {
		t.Error("the other one is refused")
	}
	has(other, "1.o", part("delayed", 0, "o"))
	save(true, "3.a", "4.a", true)
	has(s, "4.a")
	has(other, "1.o", part("delayed", 0, "o"))
}

// TestSnapshotIsWholeOrNothing: of one that is cut off, nothing is there, and neither is
// a part of one that is being saved.
func TestSnapshotIsWholeOrNothing(t *testing.T) {
	t.Parallel()
	schema, db := pool(t)
	s, ctx := store(t, db, config.Records{}), t.Context()
	if _, err := MigrateTables(ctx, db, ""); err != nil {
		t.Fatal(err)
	}
	if !ok(t)(s.SaveSnapshot(ctx, "", "1.a", []recovery.Part{part("delayed", 0, "x")}, true)) {
		t.Fatal("it is refused")
	}
	large := make([]recovery.Part, 10*snapshotRows)
	for i := range large {
		large[i] = recovery.Part{Set: "delayed", Number: i, Members: 1, Data: bytes.Repeat([]byte("x"), 64<<10)}
	}
	cutting, err := mysqldb.Connect(report.Secret(testmain.SharedMariaDB(t).DSN(schema)), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer cutting.Close()
	cut, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		_, err := store(t, cutting, config.Records{}).SaveSnapshot(cut, "1.a", "2.a", large, true)
		done <- err
	}()
	defer cancel()
	for reads := 0; ; reads++ {
		if reads == 3 {
			cancel()
		}
		version, parts, err := s.Snapshot(ctx)
		if want := map[string]int{"1.a": 1, "2.a": len(large)}[version]; err != nil || len(parts) != want {
			t.Fatalf("version %q has %d parts, not %d, %v", version, len(parts), want, err)
		}
		select {
		case err := <-done:
			t.Logf("it ended after %d reads: %v", reads, err)
			return
		default:
		}
	}
}
