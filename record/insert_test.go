package record_test

import (
	"errors"
	"testing"

	"golang.org/x/sync/errgroup"

	. "github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

// TestInsertOncePerKey however often, and by however many at once.
func TestInsertOncePerKey(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		if _, _, err := s.InsertOnce(t.Context(), "k", Request{Report: "r"}); !errors.Is(err, ErrNoRequests) {
			t.Errorf("without the table: %v", err)
		}
		beside(t, db)
		if _, _, err := s.InsertOnce(t.Context(), "k", Request{Report: "r", Parameters: []byte("no JSON")}); err == nil {
			t.Error("the row was taken")
		}
		const callers = 6
		ids, befores := make([]string, callers), make([]bool, callers)
		var g errgroup.Group
		for i := range callers {
			g.Go(func() (err error) {
				ids[i], befores[i], err = s.InsertOnce(t.Context(), "k", Request{Report: "r", Parameters: []byte(`{"a":1}`)})
				return err
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		first := 0
		for i := range callers {
			if ids[i] != ids[0] {
				t.Errorf("%q", ids)
			}
			if !befores[i] {
				first++
			}
		}
		if first != 1 {
			t.Errorf("%d callers were the first", first)
		}
		for name, c := range map[string]Request{
			"another report": {Report: "R", Parameters: []byte(`{"a":1}`)}, "other parameters": {Report: "r", Parameters: []byte(`{"a":2}`)},
			"another owner":  {Report: "r", Parameters: []byte(`{"a":1}`), Owner: "ann"},
			"another tenant": {Report: "r", Parameters: []byte(`{"a":1}`), Tenant: "acme"},
		} {
			if id, _, err := s.InsertOnce(t.Context(), "k", c); !errors.Is(err, ErrOtherRequest) || id != "" {
				t.Errorf("%s: %q %v", name, id, err)
			}
		}
		// Keys differ by case, and those of other record tables are others.
		if id, before, err := s.InsertOnce(t.Context(), "K", Request{Report: "r", Parameters: []byte(`{"a":1}`)}); err != nil || before || id == ids[0] {
			t.Errorf("%s %v %v", id, before, err)
		}
		if _, err := Migrate(t.Context(), db, "other"); err != nil {
			t.Fatal(err)
		}
		if _, before, err := store(t, db, report.Records{Table: "other"}).InsertOnce(t.Context(), "k", Request{Report: "r"}); err != nil || before {
			t.Errorf("%v %v", before, err)
		}
		var rows int
		if err := db.QueryRow("SELECT COUNT(*) FROM file_download_record").Scan(&rows); err != nil || rows != 2 {
			t.Errorf("%d records, %v", rows, err)
		}
		run(t, db, "UPDATE fanfold_request SET made = NOW() - INTERVAL 8 DAY WHERE name = 'k'")
		if _, _, err := s.InsertOnce(t.Context(), "new", Request{Report: "r"}); err != nil {
			t.Fatal(err)
		}
		if _, before, err := s.InsertOnce(t.Context(), "k", Request{Report: "r"}); err != nil || before {
			t.Errorf("a key of last week: %v %v", before, err)
		}
	})
}

// TestInsertOnceWithoutAGrant: that records cannot be inserted is not laid to the table of requests.
func TestInsertOnceWithoutAGrant(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		schema, admin := pool(t, k)
		if _, err := Migrate(t.Context(), admin, ""); err != nil {
			t.Fatal(err)
		}
		beside(t, admin)
		dsn := account(t, admin, schema, "SELECT, UPDATE ON file_download_record")
		s := store(t, connect(t, k, dsn), report.Records{})
		if _, _, err := s.InsertOnce(t.Context(), "k", Request{Report: "r"}); !errors.Is(err, ErrNoRequests) {
			t.Errorf("without a grant on the table of requests: %v", err)
		}
		dsn = account(t, admin, schema, "SELECT, UPDATE ON file_download_record", "SELECT, INSERT, UPDATE, DELETE ON fanfold_request")
		s = store(t, connect(t, k, dsn), report.Records{})
		if _, _, err := s.InsertOnce(t.Context(), "k", Request{Report: "r"}); errors.Is(err, ErrNoRequests) || !k.Is(err, Denied) {
			t.Errorf("without a grant on the records: %v", err)
		}
	})
}
