package command

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/inspect/doctor"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
)

// serverIn starts a MariaDB in this time zone, with an empty schema x.
func serverIn(t *testing.T, zone string) (*testenv.Database, *sql.DB) {
	t.Helper()
	m, err := testenv.StartDatabase(t.Context(), t.TempDir(), "--default-time-zone="+zone)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Stop)
	admin, err := m.Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if _, err := admin.ExecContext(t.Context(), "CREATE SCHEMA x"); err != nil {
		t.Fatal(err)
	}
	db, err := m.Open("x")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return m, db
}

// TestTimeZones: a TIMESTAMP is the same instant whatever the time zone of the server, a DATETIME
// is in the time zone of its database, and one report can join databases of several zones.
func TestTimeZones(t *testing.T) {
	t.Parallel()
	m, source := serverIn(t, "+02:00")
	if _, err := source.ExecContext(t.Context(), `CREATE TABLE t (id INT, ts TIMESTAMP(3) NULL, dt DATETIME, us DATETIME(6));
		SET time_zone = '+00:00';
		INSERT INTO t VALUES (1, '2024-07-01 12:00:00.5', '2024-07-01 14:00:00', '2024-07-01 08:00:00'), (2, '2024-01-01 12:00:00', '2024-01-01 13:00:00', '2024-01-01 07:00:00.25'), (3, NULL, NULL, NULL);
		SET time_zone = DEFAULT`); err != nil {
		t.Fatal(err)
	}
	const stages = `    listeners: {
      ops: {database: ops, query: "SELECT id, ts, dt FROM t ORDER BY id"},
      crm: {database: crm, query: "SELECT id, us, ts AS seen FROM t ORDER BY id"}}
    join: {key: id}
`
	s := newStack(t, `
  shown:
`+stages+`    file: {time_zone: Europe/Berlin}
  given:
`+stages+`  offsets:
`+stages+`    file: {datetime: "DD HH:mm ZZ"}
  later:
    parameters: {from: datetime}
    listeners: {later: {database: ops, query: "SELECT id, @@session.time_zone AS zone, TIMESTAMPDIFF(HOUR, UTC_TIMESTAMP(), NOW()) AS hours, FROM_UNIXTIME(1) AS epoch FROM t WHERE ts >= :from"}}
    file: {formulas: off}
`, fmt.Sprintf("databases: {db: {dsn: \"{dsn}\"}, ops: {dsn: %q, time_zone: Europe/Berlin}, crm: {dsn: %[1]q, time_zone: America/New_York}}", m.DSN("x")))
	s.Serve(s.File)
	for name, want := range map[string]string{
		"shown": "id,ts,dt,us,seen\r\n" +
			"1,2024-07-01 14:00:00.500,2024-07-01 14:00:00,2024-07-01 14:00:00.000000,2024-07-01 14:00:00.500\r\n" +
			"2,2024-01-01 13:00:00.000,2024-01-01 13:00:00,2024-01-01 13:00:00.250000,2024-01-01 13:00:00.000\r\n3,,,,\r\n",
		"given": "id,ts,dt,us,seen\r\n" +
			"1,2024-07-01 12:00:00.500,2024-07-01 14:00:00,2024-07-01 08:00:00.000000,2024-07-01 12:00:00.500\r\n" +
			"2,2024-01-01 12:00:00.000,2024-01-01 13:00:00,2024-01-01 07:00:00.250000,2024-01-01 12:00:00.000\r\n3,,,,\r\n",
		"offsets": "id,ts,dt,us,seen\r\n1,01 12:00 +00:00,01 14:00 +02:00,01 08:00 -04:00,01 12:00 +00:00\r\n" +
			"2,01 12:00 +00:00,01 13:00 +01:00,01 07:00 -05:00,01 12:00 +00:00\r\n3,,,,\r\n",
	} {
		if diff := cmp.Diff(want, s.Jobs.Succeed(name, "")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	// What a query says is in UTC, too.
	if diff := cmp.Diff("id,zone,hours,epoch\r\n1,+00:00,0,1970-01-01 00:00:01\r\n", s.Jobs.Succeed("later", `{"from": "2024-07-01 12:00:00"}`)); diff != "" {
		t.Error(diff)
	}
	data, err := os.ReadFile(sink.ManifestName(strings.TrimPrefix(s.Jobs.Run("shown", "").File, "file://")))
	if err != nil {
		t.Fatal(err)
	}
	var manifest sink.Manifest
	if err := json.Unmarshal(data, &manifest); err != nil {
		t.Fatal(err)
	}
	zones := map[string]string{}
	for _, l := range manifest.Listeners {
		for _, c := range l.Columns {
			if c.Kind == report.KindDatetime {
				zones[c.Name] = c.Zone
			}
		}
	}
	if diff := cmp.Diff(map[string]string{"ts": "", "dt": "Europe/Berlin", "us": "America/New_York", "seen": ""}, zones); diff != "" || manifest.TimeZone != "Europe/Berlin" {
		t.Errorf("zones of the manifest: %s\n%s", diff, data)
	}
}

// TestInstantsAsParameters: a datetime parameter with an offset is the same instant in databases of
// several time zones, and for an API. Without an offset, it is the text.
func TestInstantsAsParameters(t *testing.T) {
	t.Parallel()
	tokyo, there := serverIn(t, "+09:00")
	utc, here := serverIn(t, "+00:00")
	// 2024-03-30 22:30 UTC, and the moments just before and after it.
	for db, of := range map[*sql.DB]string{there: "2024-03-31 07:30:00", here: "2024-03-30 22:30:00"} {
		for _, statement := range []string{
			"CREATE TABLE t (id INT, at DATETIME(6), ts TIMESTAMP(6) NULL)",
			fmt.Sprintf("INSERT INTO t SELECT seq, '%s' + INTERVAL CAST(seq AS SIGNED) - 2 MICROSECOND, '%[1]s' + INTERVAL CAST(seq AS SIGNED) - 2 MICROSECOND FROM seq_1_to_3", of),
		} {
			if _, err := db.ExecContext(t.Context(), tokyo.SQL(statement)); err != nil {
				t.Fatal(err)
			}
		}
	}
	asked := make(chan string, 10)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Query().Get("from")
		fmt.Fprint(w, `[{"id": 2}]`)
	}))
	t.Cleanup(api.Close)
	s := newStack(t, `
  since:
    parameters: {from: datetime, moments: {type: datetime, list: true, default: null}}
    listeners: {
      tokyo: {database: tokyo, query: "SELECT id, at FROM t WHERE at >= :from ORDER BY id"},
      utc: {database: utc, query: "SELECT id, at AS utc, :from AS bound FROM t WHERE at >= :from"},
      stamps: {database: stamps, query: "SELECT id, ts FROM t WHERE ts >= :from"},
      moments: {database: tokyo, query: "SELECT id, at AS moment FROM t WHERE at IN (:moments)"},
      vendor: {kind: http, api: vendor, columns: {id: {path: $.id, type: integer}}, result: {path: /, query: {from: ":from"}}}}
    join: {key: id, listeners: [tokyo, {name: utc, type: full}, {name: stamps, type: full}, {name: moments, type: full}, {name: vendor, type: left}]}
`, fmt.Sprintf(`databases: {db: {dsn: "{dsn}"}, tokyo: {dsn: %q, time_zone: Asia/Tokyo}, stamps: {dsn: %[1]q}, utc: {dsn: %q}}
apis: {vendor: {url: %q}}`, tokyo.DSN("x"), utc.DSN("x"), api.URL))
	s.Serve(s.File)
	const head = "id,at,utc,bound,ts,moment\r\n"
	for given, want := range map[string]struct{ file, asked string }{
		`{"from": "2024-03-31T00:30:00+02:00", "moments": ["2024-03-30T22:30:00Z"]}`: {
			head + "2,2024-03-31 07:30:00.000000,2024-03-30 22:30:00.000000,2024-03-30 22:30:00,2024-03-30 22:30:00.000000,2024-03-31 07:30:00.000000\r\n" +
				"3,2024-03-31 07:30:00.000001,2024-03-30 22:30:00.000001,2024-03-30 22:30:00,2024-03-30 22:30:00.000001,\r\n",
			"2024-03-30T22:30:00Z",
		},
		`{"from": "2024-03-30T22:30:00.000001Z"}`: {
			head + "3,2024-03-31 07:30:00.000001,2024-03-30 22:30:00.000001,2024-03-30 22:30:00.000001,2024-03-30 22:30:00.000001,\r\n",
			"2024-03-30T22:30:00.000001Z",
		},
		`{"from": "2024-03-31 07:30:00.000001"}`: {
			head + "3,2024-03-31 07:30:00.000001,,,,\r\n",
			"2024-03-31 07:30:00.000001",
		},
	} {
		if diff := cmp.Diff(want.file, s.Jobs.Succeed("since", given)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", given, diff)
		}
		if got := <-asked; got != want.asked {
			t.Errorf("%s: the API was asked for %s", given, got)
		}
	}
}

// TestDoctorOnTimeZones: doctor warns if datetimes are shown in a time zone and the configuration
// does not say in which zone those of a server outside UTC are.
func TestDoctorOnTimeZones(t *testing.T) {
	t.Parallel()
	m, source := serverIn(t, "+02:00")
	if _, err := source.ExecContext(t.Context(), "CREATE TABLE t (id INT, dt DATETIME)"); err != nil {
		t.Fatal(err)
	}
	const stages = `    listeners: {ops: {database: ops, query: "SELECT id, dt FROM t"}}` + "\n"
	databases := func(more string) string {
		return fmt.Sprintf("databases: {db: {dsn: \"{dsn}\"}, ops: {dsn: %q%s}}", m.DSN("x"), more)
	}
	given, shown := "  r:\n"+stages, "  r:\n"+stages+"    file: {time_zone: Europe/Berlin}\n"
	s := newStack(t, shown, databases(""))
	for _, test := range []struct {
		reports, more, result string
		says                  []string
	}{
		{shown, "", doctor.Warn, []string{"+02:00", "queries run in UTC", "DATETIME columns are read as UTC", "report r shows", "databases.ops.time_zone"}},
		{shown, ", time_zone: Europe/Berlin", doctor.Pass, []string{"+02:00", "queries run in UTC", "DATETIME columns are read as Europe/Berlin"}},
		{shown, ", time_zone: UTC", doctor.Pass, []string{"DATETIME columns are read as UTC"}},
		{given, "", doctor.Pass, []string{"+02:00", "DATETIME columns are read as UTC"}},
	} {
		s.File = s.Write("zones.yaml", test.reports, databases(test.more))
		f := s.finding("time zone of database ops")
		if f.Result != test.result {
			t.Errorf("%q: %+v, want %s", test.more, f, test.result)
		}
		for _, words := range test.says {
			if !strings.Contains(f.Detail+f.Hint, words) {
				t.Errorf("%q: no %q in %+v", test.more, words, f)
			}
		}
	}
	if f := s.finding("time zone of database db"); f.Result != doctor.Pass {
		t.Errorf("%+v", f)
	}
}

// TestAgesOfRecordsInADatetime: a DATETIME that says when a record changed is in the time zone of
// the server, in which services write it, or in the configured one, so that the age of a record is
// correct.
func TestAgesOfRecordsInADatetime(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, zone, more, now string }{
		{"server ahead", "+02:00", "", "NOW()"},
		{"server behind", "-05:00", "", "NOW()"},
		{"service in UTC", "+02:00", ", time_zone: UTC", "UTC_TIMESTAMP()"},
		{"service in India", "-05:00", ", time_zone: Asia/Kolkata", "UTC_TIMESTAMP() + INTERVAL 330 MINUTE"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m, db := serverIn(t, test.zone)
			if _, err := db.ExecContext(t.Context(), `CREATE TABLE exports (id INT AUTO_INCREMENT PRIMARY KEY, report VARCHAR(64), parameters JSON, status VARCHAR(16) DEFAULT 'PENDING',
				attempt INT DEFAULT 0, file VARCHAR(500), error TEXT, row_count BIGINT, updated_at DATETIME);
				INSERT INTO exports (report, updated_at) VALUES ('r', `+test.now+` - INTERVAL 2 MINUTE), ('r', `+test.now+` - INTERVAL 2 SECOND), ('r', `+test.now+`)`); err != nil {
				t.Fatal(err)
			}
			s := newStack(t, `
  r:
    listeners: {x: {database: db, query: "SELECT 1 AS id FROM DUAL"}}
`)
			// The records are on the server with that zone.
			file, err := os.ReadFile(s.File)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.NewReplacer("records: {database: db}", "records: {database: own, table: exports}",
				"databases: {", fmt.Sprintf("limits: {recover_after: 1m}\ndatabases: {own: {dsn: %q%s}, ", m.DSN("x"), test.more)).Replace(string(file))
			s.File = s.Dir + "/own.yaml"
			if err := os.WriteFile(s.File, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, code := s.fanfold("migrate"); code != exitOK {
				t.Fatalf("%d %s", code, out)
			}
			if f := s.finding("records to be started"); !strings.HasPrefix(f.Detail, "1 PENDING and 0 PROCESSING") {
				t.Errorf("%+v", f)
			}
			// What Fanfold writes is in that zone, too.
			s.Use(s.File)
			s.Serve(s.File)
			s.Jobs.Succeed("r", "")
			var seconds int
			if err := db.QueryRowContext(t.Context(), "SELECT TIMESTAMPDIFF(SECOND, MAX(updated_at), "+test.now+") FROM exports WHERE status = 'SUCCESS'").Scan(&seconds); err != nil || seconds < -1 || seconds > 60 {
				t.Errorf("changed %d seconds ago, error %v", seconds, err)
			}
		})
	}
}
