package record_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/internal/audit"
	. "github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

// acting are options that keep acts.
var acting = report.Records{Audit: 90 * 24 * time.Hour}

// acts are acts that happen now, the oldest first, two in every millisecond.
func acts(n int) (list []audit.Act) {
	first := time.Now().Add(-time.Minute).UnixMilli()
	for i := range n {
		ms := first + int64(i/2)
		list = append(list, audit.Act{Entry: fmt.Sprint(ms, "-", i%2), When: time.UnixMilli(ms), Who: "ann", By: audit.API,
			From: "10.0.0.7", Act: "cancel", On: fmt.Sprint(i), N: 1, Answer: audit.Failed, Reason: "table “x” 😀", Detail: "more"})
	}
	return list
}

func acted(t *testing.T, db *DB, where string) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM fanfold_audit WHERE "+where).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestStoredActs: acts are stored once, also by several processes at the same time, and are read page by page.
func TestStoredActs(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, acting)
		beside(t, db)
		if err := s.Acts().Check(t.Context()); err != nil || acted(t, db, "1 = 1") != 0 {
			t.Fatal(err)
		}
		made := acts(250)
		var group errgroup.Group
		for range 4 {
			group.Go(func() error { return s.Acts().Store(t.Context(), made) })
		}
		if err := group.Wait(); err != nil || acted(t, db, "1 = 1") != len(made) {
			t.Fatal(err)
		}
		slices.Reverse(made)
		for name, c := range map[string]struct {
			f    ActFilter
			n    int
			want []audit.Act
		}{
			"all":         {ActFilter{}, 1000, made},
			"the newest":  {ActFilter{}, 7, made[:7]},
			"the next":    {ActFilter{Before: made[6].Entry}, 7, made[7:14]},
			"on one":      {ActFilter{On: []string{"none", "7"}}, 7, made[242:243]},
			"since":       {ActFilter{Since: made[9].When}, 1000, made[:10]},
			"of nobody":   {ActFilter{Who: "ANN"}, 7, nil},
			"of somebody": {ActFilter{Who: "ann", Act: "cancel"}, 7, made[:7]},
			"another act": {ActFilter{Act: "Cancel"}, 7, nil},
		} {
			got, err := s.Acts().List(t.Context(), c.f, c.n)
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
			}
		}
		// What is stored stays as it is.
		forged := made[0]
		forged.Who = "eve"
		if err := s.Acts().Store(t.Context(), []audit.Act{forged}); err != nil {
			t.Error(err)
		}
		odd := []audit.Act{{Entry: "18446744073709551615-1", When: time.Now()}, {Entry: "18446744073709551614-1", When: time.Now()},
			{Entry: "1-1", When: time.Now().Add(-acting.Audit - time.Second)}}
		if err := s.Acts().Store(t.Context(), odd); err != nil || acted(t, db, "1 = 1") != len(made) || acted(t, db, "who = 'eve'") != 0 {
			t.Error("it was changed, or an odd entry stored", err)
		}
		// Another installation in the schema has its own acts.
		other := store(t, db, report.Records{Table: "another", Audit: acting.Audit})
		if got, err := other.Acts().List(t.Context(), ActFilter{}, 7); err != nil || len(got) != 0 {
			t.Errorf("%v %v", got, err)
		}
		if err := other.Acts().Store(t.Context(), made); err != nil || acted(t, db, "1 = 1") != 2*len(made) {
			t.Error(err)
		}
	})
}

// TestActsAreNotKept: without the option, the table or a right, there are no older acts, and the check says why.
func TestActsAreNotKept(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		for name, c := range map[string]struct {
			options report.Records
			prepare string
			grants  []string
			refused bool
		}{
			"off":        {options: report.Records{}},
			"no table":   {options: acting, prepare: "DROP TABLE fanfold_audit", refused: true},
			"no right":   {options: acting, grants: []string{"SELECT ON fanfold_history"}, refused: true},
			"only reads": {options: acting, grants: []string{"SELECT ON fanfold_audit"}, refused: true},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				schema, admin := pool(t, k)
				beside(t, admin)
				db := admin
				if c.grants != nil {
					db = connect(t, k, account(t, admin, schema, c.grants...))
				}
				if c.prepare != "" {
					run(t, admin, c.prepare)
				}
				a := store(t, db, c.options).Acts()
				if err := a.Check(t.Context()); (err != nil) != c.refused || err != nil && !strings.Contains(err.Error(), "fanfold_audit") {
					t.Error(err)
				}
				ahead := audit.Act{Entry: fmt.Sprint(time.Now().Add(time.Hour).UnixMilli(), "-0"), When: time.Now().Add(time.Hour)}
				if err := a.Store(t.Context(), append(acts(1), ahead)); (err != nil) != c.refused {
					t.Error(err)
				}
				if got, err := a.List(t.Context(), ActFilter{}, 7); err != nil || len(got) != 0 {
					t.Errorf("%v %v", got, err)
				}
				if name == "off" && acted(t, db, "1 = 1") != 0 {
					t.Error("acts are stored")
				}
				if more, err := a.Prune(t.Context()); err != nil || more {
					t.Error(more, err)
				}
			})
		}
	})
}

// TestActsAreCut: whatever an entry says, it fits into a row and every database can store it.
func TestActsAreCut(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, acting)
		beside(t, db)
		long := "a\x00b\xff" + strings.Repeat("😀", 400)
		odd := audit.Act{Entry: acts(1)[0].Entry, When: time.Now(), Who: long, By: long, From: long, Act: long, On: long, Answer: long, Reason: long, Detail: long}
		if err := s.Acts().Store(t.Context(), []audit.Act{odd}); err != nil {
			t.Fatal(err)
		}
		got, err := s.Acts().List(t.Context(), ActFilter{}, 2)
		if err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		for _, text := range []string{got[0].Who, got[0].By, got[0].From, got[0].Act, got[0].On, got[0].Answer, got[0].Reason, got[0].Detail} {
			if n := len([]rune(text)); n != 300 || !strings.HasPrefix(text, "a?b\ufffd😀") {
				t.Errorf("%d characters: %q", n, text)
			}
		}
	})
}

// TestPruneActs deletes what is older than the retention, in batches, and only of this installation.
func TestPruneActs(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, acting)
		beside(t, db)
		for _, of := range []string{"file_download_record", "another"} {
			run(t, db, "INSERT INTO fanfold_audit (records, ms, seq, who, face, origin, act, target, n, answer, reason, detail, made) "+
				"SELECT '"+of+"', seq, 0, '', '', '', '', '', 1, '', '', '', "+
				"NOW() - INTERVAL (CASE WHEN seq > 600 THEN 89 ELSE 91 END) DAY FROM seq_1_to_700")
		}
		for _, want := range []struct {
			more bool
			left int
		}{{true, 1400 - PrunedActs}, {false, 800}, {false, 800}} {
			more, err := s.Acts().Prune(t.Context())
			if n := acted(t, db, "1 = 1"); err != nil || more != want.more || n != want.left {
				t.Errorf("%d left, more: %v, %v", n, more, err)
			}
		}
		if _, err := store(t, db, report.Records{}).Acts().Prune(t.Context()); err != nil || acted(t, db, "records = 'another'") != 700 || acted(t, db, "1 = 1") != 700 {
			t.Error(err)
		}
	})
}

// TestActsOfALockedTable: who stores acts does not wait for a table or row that others have locked, and can do so later.
func TestActsOfALockedTable(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, acting)
		beside(t, db)
		made := acts(1)
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		ms, _, _ := strings.Cut(made[0].Entry, "-")
		lock := of(k, "INSERT INTO fanfold_audit (records, ms, seq, who, face, origin, act, target, n, answer, reason, detail) "+
			"VALUES ('file_download_record', "+ms+", 0, '', '', '', '', '', 1, '', '', '')", "LOCK TABLE fanfold_audit")
		if _, err := tx.ExecContext(t.Context(), lock); err != nil {
			t.Fatal(err)
		}
		if err := s.Acts().Store(t.Context(), made); !k.Is(err, Contended) {
			t.Error(err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if err := s.Acts().Store(t.Context(), made); err != nil || acted(t, db, "1 = 1") != 1 {
			t.Error(err)
		}
	})
}
