package record_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/engine/recovery"
	. "github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

func part(data string) recovery.Part { return recovery.Part{Members: len(data), Data: []byte(data)} }

// TestSnapshot: a snapshot replaces the one before, if no other has.
func TestSnapshot(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		if _, err := MigrateTables(t.Context(), db, ""); err != nil {
			t.Fatal(err)
		}
		has := func(s *Store, version string, want ...recovery.Part) {
			t.Helper()
			got, parts, err := s.Partition(0, 1).Snapshot(t.Context())
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
			if got, err := s.Partition(0, 1).SnapshotVersion(t.Context()); err != nil || got != version {
				t.Errorf("version %q, want %q, %v", got, version, err)
			}
		}
		save := func(want bool, before, now string, parts ...recovery.Part) {
			t.Helper()
			if saved := ok(t)(s.Partition(0, 1).SaveSnapshot(t.Context(), before, now, parts)); saved != want {
				t.Fatalf("%s after %s: %v", now, before, saved)
			}
		}
		has(s, "")
		save(false, "1.a", "2.a", part("x"))
		var many []recovery.Part
		for i := range 20 {
			many = append(many, part("\xff\x00 "+string(rune(i))))
		}
		save(true, "", "1.a", many...)
		has(s, "1.a", many...)
		save(false, "", "1.b", part("x"))
		save(false, "1.b", "2.b", part("x"))
		has(s, "1.a", many...)
		save(true, "1.a", "2.a", part("z"))
		has(s, "2.a", part("z"))
		// A record table of its own has a snapshot of its own.
		other := store(t, db, report.Records{Table: "other"})
		has(other, "")
		if !ok(t)(other.Partition(0, 1).SaveSnapshot(t.Context(), "", "1.o", []recovery.Part{part("o")})) {
			t.Error("the other one is refused")
		}
		save(true, "2.a", "3.a")
		has(s, "3.a")
		has(other, "1.o", part("o"))
	})
}

// TestSnapshotIsWholeOrNothing: of one that is cut off, nothing is there, and neither is
// a part of one that is being saved.
func TestSnapshotIsWholeOrNothing(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		_, dsn := place(t, k)
		db := connect(t, k, dsn)
		s, ctx := store(t, db, report.Records{}), t.Context()
		if _, err := MigrateTables(ctx, db, ""); err != nil {
			t.Fatal(err)
		}
		if !ok(t)(s.Partition(0, 1).SaveSnapshot(ctx, "", "1.a", []recovery.Part{part("x")})) {
			t.Fatal("it is refused")
		}
		large := make([]recovery.Part, 100)
		for i := range large {
			large[i] = recovery.Part{Members: 1, Data: bytes.Repeat([]byte("x"), 64<<10)}
		}
		cutting, err := k.Open(report.Database{DSN: report.Secret(dsn)}, Options{MaxConnections: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer cutting.Close()
		cut, cancel := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() {
			_, err := store(t, cutting, report.Records{}).Partition(0, 1).SaveSnapshot(cut, "1.a", "2.a", large)
			done <- err
		}()
		defer cancel()
		for reads := 0; ; reads++ {
			if reads == 3 {
				cancel()
			}
			version, parts, err := s.Partition(0, 1).Snapshot(ctx)
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
	})
}
