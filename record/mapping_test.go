package record_test

import (
	"errors"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	. "github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/record/mysql"
	"github.com/fanfold/fanfold/record/postgres"
	"github.com/fanfold/fanfold/report"
)

// foreign is a table of a service: text ids, statuses as numbers, names of its
// own, and rows that are not Fanfold's.
const foreign = "CREATE TABLE `Downloads` (`key` VARCHAR(40) COLLATE utf8mb4_general_ci PRIMARY KEY, kind VARCHAR(64), args LONGTEXT, state TINYINT, n INT NULL, url TEXT, changed DATETIME(3) NULL, message VARCHAR(100), owner VARCHAR(20), secret TEXT)"

func foreignOptions(table string) report.Records {
	return report.Records{
		Table: table,
		Columns: map[string]string{
			"id": "key", "report": "kind", "parameters": "args", "status": "state", "attempt": "n",
			"file": "url", "updated": "changed", "error": "message", "rows": "-",
		},
		Statuses: map[string]string{"PENDING": "0", "PROCESSING": "1", "SUCCESS": "2", "FAILED": "-1", "CANCELLED": "9"},
		Filter:   "owner = 'fanfold' OR owner = 'x?' -- both",
	}
}

func TestMappedTableWithTheLeastGrants(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		schema, admin := pool(t, k)
		run(t, admin, foreign)
		run(t, admin, "INSERT INTO `Downloads` VALUES ('A-1', 'r', '{}', 0, NULL, NULL, NULL, NULL, 'fanfold', ''), ('b', 'r', NULL, 1, 2, NULL, NOW(), 'x', 'x?', ''), ('c', 'r', NULL, 0, 0, NULL, NOW(), NULL, 'other', ''), ('d', 'r', NULL, 7, 0, NULL, NOW(), NULL, 'fanfold', '')")
		db := connect(t, k, account(t, admin, "", "SELECT (`key`, kind, args, state, n, url, changed, message, owner), UPDATE (state, n, url, changed, message) ON `"+schema+"`.`Downloads`"))
		s := store(t, db, foreignOptions(schema+".Downloads"))
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		found, err := s.Read(t.Context(), []string{"a-1", "A-1", "B", "c", "d"})
		if err != nil {
			t.Fatal(err)
		}
		for id, r := range found {
			r.Age, r.Created = 0, 0
			found[id] = r
		}
		a := engine.Record{ID: "A-1", Report: "r", Parameters: []byte("{}"), Status: report.Pending}
		b := engine.Record{ID: "b", Report: "r", Status: report.Processing, Attempt: 2, Error: "x"}
		d := engine.Record{ID: "d", Report: "r", Status: "7"}
		want := of(k, map[string]engine.Record{"a-1": a, "A-1": a, "B": b, "d": d}, map[string]engine.Record{"A-1": a, "d": d})
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		started, err := s.Start(t.Context(), []engine.Run{{ID: "d"}, {ID: "b", Attempt: 2}, {ID: "A-1"}, {ID: "c"}})
		if err != nil || !cmp.Equal(started, []bool{false, true, true, false}) {
			t.Errorf("started %v, %v", started, err)
		}
		if !ok(t)(s.Succeed(t.Context(), engine.Run{ID: "A-1", Attempt: 1}, "f", 1)) || !ok(t)(s.Fail(t.Context(), engine.Run{ID: "b", Attempt: 3}, "why")) {
			t.Error("not finished")
		}
		if ok(t)(s.Fail(t.Context(), engine.Run{ID: "c"}, "why")) {
			t.Error("a row outside of the filter was changed")
		}
		if r, err := s.Retry(t.Context(), "b"); err != nil || r.Status != report.Pending {
			t.Errorf("retry: %v, %v", r, err)
		}
		if pending, processing, err := s.CountStartable(t.Context(), 0); err != nil || pending+processing != 1 {
			t.Errorf("startable: %d, %d, %v", pending, processing, err)
		}
		if list, err := s.List(t.Context(), Filter{}, 10); err != nil || len(list) != 3 {
			t.Errorf("list: %v, %v", list, err)
		}
		if _, err := db.Exec(text(t, k, "SELECT secret FROM `"+schema+"`.`Downloads`")); err == nil {
			t.Error("the grants of this test are too wide")
		}
		var rest string
		if err := admin.QueryRow(of(k, "SELECT GROUP_CONCAT(`key`, state, COALESCE(n, '-') ORDER BY `key`) FROM `Downloads`",
			`SELECT string_agg("key" || state || COALESCE(CAST(n AS text), '-'), ',' ORDER BY "key") FROM "Downloads"`)).Scan(&rest); err != nil || rest != "A-121,b03,c00,d70" {
			t.Errorf("the table holds %s, %v", rest, err)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]report.Records{
		"a table with a quote":      {Table: "a`b"},
		"a table of three parts":    {Table: "a.b.c"},
		"a table without a name":    {Table: "a."},
		"a column that is not ours": {Columns: map[string]string{"state": "o"}},
		"a column with a quote":     {Columns: map[string]string{"file": "a`b"}},
		"no status column":          {Columns: map[string]string{"status": "-"}},
		"a status that is not ours": {Statuses: map[string]string{"DONE": "1"}},
		"one value for two":         {Statuses: map[string]string{"FAILED": "pending"}},
	} {
		if _, err := New(&DB{Kind: mysql.Kind}, options); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// enum matches the type of a column of MariaDB.
var enum = regexp.MustCompile(`ENUM\(.*?\)`)

// with returns a mapping with one more column.
func with(columns map[string]string, name, column string) map[string]string {
	columns = maps.Clone(columns)
	columns[name] = column
	return columns
}

func TestCheckRefuses(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		_, db := pool(t, k)
		const good = "id INT PRIMARY KEY, report TEXT, status VARCHAR(16), attempt INT, file TEXT, updated_at DATETIME"
		mapped := report.Records{Table: "t", Columns: map[string]string{"parameters": "-", "rows": "-", "error": "-"}}
		for _, test := range []struct {
			name, columns string
			change        func(*report.Records)
			want          string // empty: no error
		}{
			{"nothing", good, func(*report.Records) {}, ""},
			{"a missing table", good, func(o *report.Records) { o.Table = "missing" }, "missing"},
			{"a missing column", strings.Replace(good, "file TEXT", "f TEXT", 1), func(*report.Records) {}, "file"},
			{"a missing column of the owner", good, func(o *report.Records) { o.Columns = with(o.Columns, "owner", "person") }, "person"},
			{"a missing column of the lane", good, func(o *report.Records) { o.LaneColumn = "tenant" }, "tenant"},
			{"columns of the owner and the lane", good + ", person INT, tenant TEXT", func(o *report.Records) {
				o.Columns, o.LaneColumn = with(o.Columns, "owner", "person"), "tenant"
			}, ""},
			{"a time as the owner", good + ", person DATETIME", func(o *report.Records) { o.Columns = with(o.Columns, "owner", "person") }, "for owner"},
			{"a decimal id", strings.Replace(good, "id INT", "id DECIMAL(9)", 1), func(*report.Records) {}, of(k, "DECIMAL", "NUMERIC")},
			{"an updated that is no time", strings.Replace(good, "DATETIME", "BIGINT", 1), func(*report.Records) {}, of(k, "BIGINT", "bigint")},
			{"a short status", strings.Replace(good, "VARCHAR(16)", "VARCHAR(8)", 1), func(*report.Records) {}, "does not fit"},
			{"an enum without a value", strings.Replace(good, "VARCHAR(16)", "ENUM('PENDING','PROCESSING','SUCCESS','FAILED')", 1), func(*report.Records) {}, "CANCELLED"},
			{"a whole enum", strings.Replace(good, "VARCHAR(16)", "ENUM('"+of(k, "Pending", "PENDING")+"','PROCESSING','SUCCESS','FAILED','CANCELLED')", 1), func(*report.Records) {}, ""},
			{"an enum without PARTIAL, where a job can end so", strings.Replace(good, "VARCHAR(16)", "ENUM('PENDING','PROCESSING','SUCCESS','FAILED','CANCELLED')", 1), func(o *report.Records) { o.Partial = true }, "PARTIAL"},
			{"an integer without PARTIAL", strings.Replace(good, "VARCHAR(16)", "INT", 1), func(o *report.Records) {
				o.Statuses = map[string]string{"PENDING": "0", "PROCESSING": "1", "SUCCESS": "2", "FAILED": "3", "CANCELLED": "4"}
			}, ""},
			{"an integer without PARTIAL, where a job can end so", strings.Replace(good, "VARCHAR(16)", "INT", 1), func(o *report.Records) {
				o.Partial, o.Statuses = true, map[string]string{"PENDING": "0", "PROCESSING": "1", "SUCCESS": "2", "FAILED": "3", "CANCELLED": "4"}
			}, "PARTIAL"},
			{"words in an integer", strings.Replace(good, "VARCHAR(16)", "INT", 1), func(*report.Records) {}, "integer"},
			{"a filter that is no SQL", good, func(o *report.Records) { o.Filter = "nonsense(" }, "syntax"},
			{"a filter with a placeholder", good, func(o *report.Records) { o.Filter = "id = ?" }, "syntax"},
		} {
			run(t, db, "DROP TABLE IF EXISTS t")
			if values := enum.FindString(test.columns); k == postgres.Kind && values != "" {
				run(t, db, "DROP TYPE IF EXISTS statuses")
				run(t, db, "CREATE TYPE statuses AS "+values)
				test.columns = strings.Replace(test.columns, values, "statuses", 1)
			}
			run(t, db, "CREATE TABLE t ("+test.columns+")")
			options := mapped
			test.change(&options)
			s := store(t, db, options)
			err := s.Check(t.Context())
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%s: %v", test.name, err)
			}
			if _, again := s.Read(t.Context(), []string{"1"}); (again == nil) != (err == nil) {
				t.Errorf("%s: read says %v", test.name, again)
			}
		}
	})
}

func TestInsert(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		id, err := s.Insert(t.Context(), Request{Report: "funds", Parameters: []byte(`{"b":"é","a":12345678901234567890.50}`), Owner: "änn", Tenant: "acme"})
		if err != nil {
			t.Fatal(err)
		}
		want := engine.Record{ID: id, Report: "funds", Parameters: []byte(`{"b":"é","a":12345678901234567890.50}`), Status: report.Pending, Owner: "änn", Tenant: "acme"}
		if diff := cmp.Diff(want, read(t, s, id)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if _, err := s.One(t.Context(), "0"+id); !errors.Is(err, engine.ErrNoRecord) {
			t.Errorf("0%s: %v", id, err)
		}
		run(t, db, foreign)
		if _, err := store(t, db, foreignOptions("Downloads")).Insert(t.Context(), Request{Report: "r"}); err == nil {
			t.Error("a row without an id was inserted")
		}
		for _, of := range []Request{{Report: "r", Owner: "ann"}, {Report: "r", Tenant: "acme"}} {
			bare := store(t, db, report.Records{Columns: map[string]string{"owner": "-", "tenant": "-"}})
			if _, err := bare.Insert(t.Context(), of); !errors.Is(err, ErrNoOwner) {
				t.Errorf("%+v: %v", of, err)
			}
		}
	})
}

// TestParametersOfTypeJSON: in a column of that type, MySQL writes them in its own form.
func TestParametersOfTypeJSON(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		_, db := own(t, k, report.Records{})
		run(t, db, "ALTER TABLE file_download_record ADD typed JSON NULL")
		s := store(t, db, report.Records{Columns: map[string]string{"parameters": "typed"}})
		given, want := `{"b":"é","a":12345678901234567890.50}`, `{"b":"é","a":12345678901234567890.50}`
		if k == mysql.Kind && testmain.SharedDatabase(t).MySQL {
			want = `{"a": 1.2345678901234567e19, "b": "é"}`
		}
		id, err := s.Insert(t.Context(), Request{Report: "funds", Parameters: []byte(given)})
		if err != nil {
			t.Fatal(err)
		}
		if r := read(t, s, id); string(r.Parameters) != want {
			t.Errorf("%s, want %s", r.Parameters, want)
		}
		if list, err := s.List(t.Context(), Filter{Parameters: map[string]string{"a": "12345678901234567890.50", "b": "é"}}, 2); err != nil || len(list) != 1 {
			t.Errorf("%v %v", list, err)
		}
	})
}

// TestInsertOfWhatIsNotSeen leaves no row.
func TestInsertOfWhatIsNotSeen(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{Filter: "report = 'funds' -- ours"})
		if _, err := s.Insert(t.Context(), Request{Report: "users", Parameters: []byte("{}")}); !errors.Is(err, ErrFiltered) {
			t.Errorf("a row that the filter hides: %v", err)
		}
		run(t, db, "CREATE TABLE uncounted (id INT DEFAULT 0 PRIMARY KEY, report VARCHAR(9), status VARCHAR(16), attempt INT, file TEXT, updated_at DATETIME)")
		columns := map[string]string{"parameters": "-", "error": "-", "rows": "-"}
		if _, err := store(t, db, report.Records{Table: "uncounted", Columns: columns}).Insert(t.Context(), Request{Report: "r"}); !errors.Is(err, ErrNotCounted) {
			t.Errorf("an id that nobody counts: %v", err)
		}
		var rows int
		if err := db.QueryRow("SELECT (SELECT COUNT(*) FROM file_download_record) + (SELECT COUNT(*) FROM uncounted)").Scan(&rows); err != nil || rows != 0 {
			t.Errorf("%d rows are left, %v", rows, err)
		}
		if id, err := s.Insert(t.Context(), Request{Report: "funds"}); err != nil || read(t, s, id).Report != "funds" {
			t.Errorf("record %s: %v", id, err)
		}
	})
}
