package record_test

import (
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"

	. "github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

// TestSubmitOncePerFiring however often, and by however many at once.
func TestSubmitOncePerFiring(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		beside(t, db)
		if err := s.CheckFirings(t.Context()); err != nil {
			t.Fatal(err)
		}
		const callers, firings = 6, 10
		ids := make([][firings]string, callers)
		var g errgroup.Group
		for c := range callers {
			g.Go(func() error {
				for i := range firings {
					id, err := s.Submit(t.Context(), "weekly-42", int64(i), "r", []byte(`{"user":"42"}`))
					if err != nil {
						return err
					}
					ids[c][i] = id
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		distinct := map[string]bool{}
		for c := range callers {
			if ids[c] != ids[0] {
				t.Errorf("caller %d got %v, the first %v", c, ids[c], ids[0])
			}
			for _, id := range ids[c] {
				distinct[id] = true
			}
		}
		var rows int
		if err := db.QueryRow("SELECT COUNT(*) FROM file_download_record").Scan(&rows); err != nil || rows != firings || len(distinct) != firings {
			t.Errorf("%d records, %d ids for %d firings, %v", rows, len(distinct), firings, err)
		}
		if r := read(t, s, ids[0][0]); r.Status != report.Pending || r.Report != "r" || string(r.Parameters) != `{"user":"42"}` {
			t.Errorf("%+v", r)
		}
		// Another timer, or one that differs in case, is another firing.
		if id, err := s.Submit(t.Context(), "Weekly-42", 0, "r", nil); err != nil || distinct[id] {
			t.Errorf("%s %v", id, err)
		}
		run(t, db, "UPDATE fanfold_firing SET made = NOW() - INTERVAL 100 DAY WHERE name = 'weekly-42'")
		if _, err := s.Submit(t.Context(), "weekly-43", 0, "r", nil); err != nil {
			t.Fatal(err)
		}
		if err := db.QueryRow("SELECT COUNT(*) FROM fanfold_firing WHERE name = 'weekly-42'").Scan(&rows); err != nil || rows != firings-Pruned {
			t.Errorf("%d old firings are left, %v", rows, err)
		}
	})
}

// TestSubmitThatFailsLeavesNothing: neither the record nor the firing.
func TestSubmitThatFailsLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		beside(t, db)
		if _, err := s.Submit(t.Context(), "x", 1, "r", []byte("no JSON")); err == nil {
			t.Error("the row was taken")
		}
		var rows int
		if err := db.QueryRow("SELECT COUNT(*) FROM fanfold_firing").Scan(&rows); err != nil || rows != 0 {
			t.Errorf("%d firings, %v", rows, err)
		}
		if _, err := s.Submit(t.Context(), "x", 1, "r", []byte("{}")); err != nil {
			t.Error(err)
		}
	})
}

func TestCheckFirings(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		if err := s.CheckFirings(t.Context()); !errors.Is(err, ErrNoFirings) {
			t.Errorf("without the table: %v", err)
		}
		beside(t, db)
		for i, c := range []struct {
			id string
			ok bool
		}{{"INT AUTO_INCREMENT", true}, {of(k, "BIGINT AUTO_INCREMENT", "uuid DEFAULT gen_random_uuid()"), true}, {"INT", false}, {"INT DEFAULT 0", false}, {"VARCHAR(36)", false}} {
			table := fmt.Sprintf("mine%d", i)
			run(t, db, "CREATE TABLE "+table+" (nr "+c.id+" PRIMARY KEY, report VARCHAR(9), status VARCHAR(16), attempt INT, file TEXT, updated_at DATETIME)")
			options := report.Records{Table: table, Columns: map[string]string{"id": "nr", "parameters": "-", "error": "-", "rows": "-"}}
			if err := store(t, db, options).CheckFirings(t.Context()); (err == nil) != c.ok || err != nil && !errors.Is(err, ErrNoFirings) {
				t.Errorf("%s: %v", c.id, err)
			}
			id := fmt.Sprint(i)
			if _, err := store(t, db, options).Submit(t.Context(), "x"+id, 1, "r", nil); c.ok != (err == nil) || c.id == "INT DEFAULT 0" && !errors.Is(err, ErrNotCounted) {
				t.Errorf("submit, %s: %v", c.id, err)
			}
		}
	})
}
