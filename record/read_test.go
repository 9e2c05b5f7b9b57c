package record_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/engine"
	. "github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

func TestReadOfIntegerIDs(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		last := fmt.Sprint(most(k))
		run(t, db, "INSERT INTO file_download_record (id, report, parameters) VALUES (1111, 'r', '{}'), (2, 'r', NULL), ("+last+", 'r', NULL)")
		got, err := s.Read(t.Context(), []string{"1111", "01111", "2", "2x", "x", "", "-2", "3", last, "9223372036854775808", "18446744073709551616", "1e0"})
		if err != nil {
			t.Fatal(err)
		}
		ids := map[string]string{}
		for asked, r := range got {
			ids[asked] = r.ID
		}
		want := map[string]string{"1111": "1111", "01111": "1111", "2": "2", last: last}
		if diff := cmp.Diff(want, ids); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got["2"].Parameters != nil || string(got["1111"].Parameters) != "{}" {
			t.Errorf("parameters %q and %q", got["2"].Parameters, got["1111"].Parameters)
		}
		if started, err := s.Start(t.Context(), []engine.Run{{ID: "01111"}, {ID: "x"}, {ID: "2"}, {ID: "2"}}); err != nil || !cmp.Equal(started, []bool{false, false, true, false}) {
			t.Errorf("started %v, %v", started, err)
		}
	})
}

// TestReadOfRowsAndCreated: they are read where the table has them, and may be read.
func TestReadOfRowsAndCreated(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		for name, c := range map[string]struct {
			alter         string
			options       report.Records
			rows, created bool
		}{
			"own table":     {"", report.Records{}, true, true},
			"another name":  {"CHANGE created_at born DATETIME NULL", report.Records{Columns: map[string]string{"created": "born"}}, true, true},
			"no created_at": {"DROP created_at", report.Records{}, true, false},
			"another type":  {"MODIFY created_at VARCHAR(40)", report.Records{}, true, false},
			"not wanted":    {"MODIFY row_count DECIMAL(9,2)", report.Records{Columns: map[string]string{"created": "-", "rows": "-"}}, false, false},
			"rows in text":  {"MODIFY row_count VARCHAR(40)", report.Records{}, true, true},
		} {
			s, db := own(t, k, report.Records{})
			run(t, db, "INSERT INTO file_download_record (id, report, status, row_count, created_at) VALUES (1, 'r', 'SUCCESS', 5, NOW() - INTERVAL 1 HOUR), (2, 'r', 'FAILED', 5, NOW())")
			if c.alter != "" {
				run(t, db, "ALTER TABLE file_download_record "+c.alter)
			}
			s = store(t, db, c.options)
			found, err := s.Read(t.Context(), []string{"1", "2"})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if r := found["1"]; c.rows != (r.Rows != nil && *r.Rows == 5) || c.created != (r.Created > 59*time.Minute && r.Created < 2*time.Hour) || !c.created && r.Created != 0 {
				t.Errorf("%s: %v %v", name, r.Rows, r.Created)
			}
			if r := found["2"]; r.Rows != nil {
				t.Errorf("%s: %d rows of a record without file", name, *r.Rows)
			}
		}
	})
}

func TestReadOfTextIDs(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		_, db := pool(t, k)
		run(t, db, of(k, "DO 1", "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"))
		for _, test := range []struct {
			collation string
			asked     []string
			want      map[string]string
		}{
			{of(k, "utf8mb4_general_ci", "loose"), []string{"ab", "AB", "cd", "CD", "zz"}, map[string]string{"ab": "ab", "AB": "ab", "cd": "Cd", "CD": "Cd"}},
			{of(k, "utf8mb4_general_ci", "loose"), []string{"AB"}, map[string]string{"AB": "ab"}},
			{of(k, "utf8mb4_general_ci", "loose"), []string{"e1", "E1", "zz"}, map[string]string{"e1": "é1", "E1": "é1"}},
			{of(k, "utf8mb4_bin", `"C"`), []string{"ab", "AB", "Cd", "cd", "zz"}, map[string]string{"ab": "ab", "Cd": "Cd"}},
			{"ascii", []string{"12", "012", "12x"}, map[string]string{"12": "12"}},
		} {
			run(t, db, "DROP TABLE IF EXISTS t")
			column := "VARCHAR(64) COLLATE " + test.collation
			if test.collation == "ascii" {
				column = of(k, "CHAR(64) CHARACTER SET ascii", "CHAR(64)")
			}
			run(t, db, "CREATE TABLE t (id "+column+" PRIMARY KEY, report TEXT, status TEXT, attempt INT NULL, file TEXT, updated_at DATETIME(6))")
			if test.collation == "ascii" {
				run(t, db, "INSERT INTO t VALUES ('12', 'r', 'PENDING', NULL, NULL, NOW(6))")
			} else {
				run(t, db, "INSERT INTO t VALUES ('ab', 'r', 'PENDING', 0, NULL, NOW(6)), ('Cd', 'r', 'PENDING', 0, NULL, NOW(6)), ('é1', 'r', 'PENDING', 0, NULL, NOW(6))")
			}
			s := store(t, db, report.Records{Table: "t", Columns: map[string]string{"parameters": "-", "rows": "-", "error": "-"}})
			found, err := s.Read(t.Context(), test.asked)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for asked, r := range found {
				got[asked] = r.ID
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s, %v (-want +got):\n%s", test.collation, test.asked, diff)
			}
		}
	})
}

func TestAgeIsOfTheDatabase(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		_, db := pool(t, k)
		run(t, db, "CREATE TABLE t (id INT PRIMARY KEY, report TEXT, status TEXT, attempt INT, file TEXT, updated_at DATETIME(6) NULL)")
		run(t, db, "INSERT INTO t SELECT 1, 'r', 'PENDING', 0, NULL, NOW(6) - INTERVAL 90 SECOND UNION SELECT 2, 'r', 'PROCESSING', 0, NULL, NOW(6) + INTERVAL 1 HOUR UNION SELECT 3, 'r', 'PROCESSING', 0, NULL, NULL UNION SELECT 4, 'r', 'SUCCESS', 0, NULL, '1000-01-01'")
		s := store(t, db, report.Records{Table: "t", Columns: map[string]string{"parameters": "-", "rows": "-", "error": "-"}})
		found, err := s.Read(t.Context(), []string{"1", "2", "3", "4"})
		if err != nil {
			t.Fatal(err)
		}
		if age := found["1"].Age; age < 90*time.Second || age > 2*time.Minute {
			t.Errorf("age %v, want 90 s", age)
		}
		if found["2"].Age != 0 || found["3"].Age != Ancient || found["4"].Age != Ancient {
			t.Errorf("ages %v, %v, %v", found["2"].Age, found["3"].Age, found["4"].Age)
		}
		for grace, want := range map[time.Duration][2]int64{time.Minute: {1, 1}, 2 * time.Minute: {0, 1}, -2 * time.Hour: {1, 2}} {
			pending, processing, err := s.CountStartable(t.Context(), grace)
			if err != nil || [2]int64{pending, processing} != want {
				t.Errorf("older than %v: %d, %d, %v", grace, pending, processing, err)
			}
		}
	})
}

func TestReadOfManyIDs(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		run(t, db, "INSERT INTO file_download_record (report) SELECT 'r' FROM seq_1_to_2500")
		var ids []string
		for i := range 2500 {
			ids = append(ids, fmt.Sprint(i+1))
		}
		found, err := s.Read(t.Context(), ids)
		if err != nil || len(found) != 2500 {
			t.Fatalf("%d records, %v", len(found), err)
		}
		newest, err := s.List(t.Context(), Filter{Status: report.Pending}, 3)
		if err != nil || len(newest) != 3 || newest[0].ID != "2500" {
			t.Errorf("newest: %v, %v", newest, err)
		}
		if none, err := s.List(t.Context(), Filter{Status: report.Failed}, 3); err != nil || len(none) != 0 {
			t.Errorf("failed: %v, %v", none, err)
		}
		if all, err := s.List(t.Context(), Filter{}, 9999); err != nil || len(all) != 2500 {
			t.Errorf("all: %d, %v", len(all), err)
		}
		if _, err := s.List(t.Context(), Filter{Status: "nonsense"}, 1); err == nil {
			t.Error("a status that does not exist was listed")
		}
	})
}

// TestListFilters: each condition holds on its own and with others, and no value is SQL.
func TestListFilters(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		_, db := own(t, k, report.Records{})
		run(t, db, "ALTER TABLE file_download_record ADD anything "+of(k, "TEXT", "json")+" NULL")
		s := store(t, db, report.Records{Columns: map[string]string{"parameters": "anything"}})
		for i, r := range [][2]string{
			{"funds", `{"tag": "vip", "n": 7, "b": true, "l": [1, 2]}`}, {"funds", `{"tag": "VIP", "n": "7", "x": null}`},
			{"users", `{"tag": "it's", "é": 1.50}`}, {"users", of(k, "no JSON", `"no object"`)}, {"users", ""},
		} {
			run(t, db, "INSERT INTO file_download_record (id, report, anything, updated_at) VALUES (?, ?, ?, NOW(6) - INTERVAL ? HOUR)", i+1, r[0], sql.NullString{String: r[1], Valid: r[1] != ""}, 10*i)
		}
		for want, f := range map[string]Filter{
			"1 2 3 4 5": {},
			"1 2":       {Report: "funds"},
			"1":         {Parameters: map[string]string{"tag": "vip"}},
			" 1 2":      {Parameters: map[string]string{"n": "7"}},
			" 1":        {Parameters: map[string]string{"n": "7", "b": "true"}},
			"  1":       {Parameters: map[string]string{"l": "[1, 2]"}},
			"3":         {Parameters: map[string]string{"tag": "it's"}},
			" 3":        {Parameters: map[string]string{"é": "1.50"}},
			"2":         {Parameters: map[string]string{"x": "null"}},
			"":          {Parameters: map[string]string{"tag": "' OR 1=1 -- "}},
			" ":         {Parameters: map[string]string{`tag" OR "`: "vip"}, Report: "no' OR '1"},
			"1 2 ":      {Since: 15 * time.Hour},
			"4 5":       {Until: 25 * time.Hour},
			"2 3":       {Since: 25 * time.Hour, Until: 5 * time.Hour, Status: report.Pending},
			"  ":        {Status: report.Failed},
			" 2 3":      {AnyOf: map[string][]string{"tag": {"it's", "none", "VIP"}}},
			"  2":       {AnyOf: map[string][]string{"tag": {"it's", "VIP"}}, Report: "funds"},
		} {
			list, err := s.List(t.Context(), f, 10)
			var ids []string
			for _, r := range list {
				ids = append(ids, r.ID)
			}
			if got := strings.Join(ids, " "); err != nil || got != strings.TrimSpace(want) {
				t.Errorf("%+v: %s, not %s: %v", f, got, want, err)
			}
		}
	})
}

// TestValues: a parameter has one text for every record, if it is not too long.
func TestValues(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		_, db := own(t, k, report.Records{})
		run(t, db, "ALTER TABLE file_download_record ADD anything "+of(k, "TEXT", "json")+" NULL")
		s := store(t, db, report.Records{Columns: map[string]string{"parameters": "anything"}})
		for i, parameters := range []string{
			`{"x": "vip"}`, `{"x": 7, "y": "z"}`, `{"x": ["a", "b"]}`, `{"y": "vip"}`, `{"x": "` + strings.Repeat("a", 4001) + `"}`,
			`{"x": "old"}`,
		} {
			run(t, db, "INSERT INTO file_download_record (id, report, anything, updated_at) VALUES (?, 'r', ?, NOW(6) - INTERVAL ? HOUR)", i+1, parameters, i)
		}
		run(t, db, "UPDATE file_download_record SET status = 'FAILED', updated_at = updated_at WHERE id = 2")
		for want, of := range map[string]Filter{
			`1:vip 2:7 3:["a", "b"] 4: 5:`:   {},
			`1:vip 3:["a", "b"] 4: 5: 6:old`: {Open: true},
			`2:7`:                            {Status: report.Failed, Since: 24 * time.Hour},
			` 2:7`:                           {Parameters: map[string]string{"y": "z"}},
			``:                               {Report: "other"},
		} {
			found, err := s.Values(t.Context(), of, "x", 5)
			var got []string
			for _, v := range found {
				got = append(got, v.ID+":"+v.Text)
				if v.Report != "r" || (v.Status == report.Failed) != (v.ID == "2") {
					t.Errorf("%+v", v)
				}
			}
			if got := strings.Join(got, " "); err != nil || got != strings.TrimSpace(want) {
				t.Errorf("%+v: %s, not %s: %v", of, got, want, err)
			}
		}
	})
}

// TestListOfWhatJSONRefuses: a value or a name that the JSON functions of a server refuse matches as text, or nothing.
func TestListOfWhatJSONRefuses(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		_, db := own(t, k, report.Records{})
		run(t, db, "ALTER TABLE file_download_record ADD anything "+of(k, "TEXT", "json")+" NULL")
		s := store(t, db, report.Records{Columns: map[string]string{"parameters": "anything"}})
		deep := strings.Repeat("[", 101) + strings.Repeat("]", 101)
		for i, parameters := range []string{`{"x": "1e400"}`, "{\"\x7f<é\": \"vip\", " + `"a\tb": "tab", "c\u0007": "bell", "😀": "smile"}`, `{"x": 1e400}`} {
			run(t, db, "INSERT INTO file_download_record (id, report, anything, updated_at) VALUES (?, 'r', ?, NOW(6) - INTERVAL ? HOUR)", i+1, parameters, i)
		}
		for _, one := range []struct{ name, value, want string }{
			{"x", "1e400", "1"}, {"x", "-1e400", ""}, {"x", deep, ""}, {"x", "[1e400]", ""}, {"x", `["\ud800"]`, ""}, {"x", "[\"\xff\"]", ""},
			{"\u007f<é", "vip", "2"}, {"a\tb", "tab", "2"}, {"c\a", "bell", "2"}, {"😀", "smile", "2"}, {"\xff", "vip", ""},
		} {
			list, err := s.List(t.Context(), Filter{Parameters: map[string]string{one.name: one.value}}, 10)
			found := len(list) > 0 && list[0].ID == one.want
			if err != nil || found != (one.want != "") {
				t.Errorf("%q = %.10s: %d records, %v", one.name, one.value, len(list), err)
			}
		}
	})
}

// TestListEndsOnItsServer: a browser that leaves closes a connection, and the server would go on for
// as long as the question takes.
func TestListEndsOnItsServer(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{Filter: of(k, "BENCHMARK(2000000000, SHA2(id, 224)) = 0", "CAST(pg_sleep(600) AS text) IS NULL")})
		run(t, db, "INSERT INTO file_download_record (report) VALUES ('r')")
		from := of(k, " FROM information_schema.processlist WHERE db = DATABASE() AND info LIKE '%BENCHMARK(20%' AND id <> CONNECTION_ID()",
			" FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid()")
		working := func() (n int) {
			if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*)"+from).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		left, leave := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() {
			_, err := s.List(left, Filter{}, 10)
			ended <- err
		}()
		for begin := time.Now(); working() == 0; time.Sleep(20 * time.Millisecond) {
			if time.Since(begin) > time.Minute {
				t.Fatal("it does not ask")
			}
		}
		leave()
		if err := <-ended; err == nil {
			t.Error("it has an answer")
		}
		for begin := time.Now(); working() > 0; time.Sleep(50 * time.Millisecond) {
			if time.Since(begin) > 10*time.Second {
				var info string
				_ = db.QueryRow("SELECT " + of(k, "info", "query") + from).Scan(&info)
				t.Fatal("the server goes on: ", info)
			}
		}
	})
}
