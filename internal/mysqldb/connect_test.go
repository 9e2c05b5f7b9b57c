package mysqldb

import (
	"database/sql"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/go-sql-driver/mysql"
)

func TestMain(m *testing.M) { testmain.Main(m) }

func TestParseOverridesWhatCallersRelyOn(t *testing.T) {
	t.Parallel()
	config, err := parse("u:p@tcp(h:3306)/s?parseTime=true&multiStatements=true&interpolateParams=true&clientFoundRows=true&columnsWithAlias=true&allowAllFiles=true&collation=latin1_swedish_ci&charset=latin1&readTimeout=7s&sql_mode=%27ANSI%27&TIME_ZONE=%27%2B05:00%27&Character_Set_Client=gbk&collation_connection=latin1_swedish_ci")
	if err != nil {
		t.Fatal(err)
	}
	if config.ParseTime || config.MultiStatements || config.InterpolateParams || config.ClientFoundRows || config.ColumnsWithAlias || config.AllowAllFiles {
		t.Errorf("an unwanted setting got through: %+v", config)
	}
	if config.Timeout != 5*time.Second || config.ReadTimeout != 7*time.Second || config.WriteTimeout != 0 {
		t.Errorf("timeouts %v, %v, %v", config.Timeout, config.ReadTimeout, config.WriteTimeout)
	}
	if config.Collation != "" || len(config.Params) != 1 || config.Params["sql_mode"] != "'ANSI'" {
		t.Errorf("collation %q, params %v", config.Collation, config.Params)
	}
	config, err = parse("u:p@tcp(h:3306)/s?timeout=1s&collation=utf8mb4_bin")
	if err != nil {
		t.Fatal(err)
	}
	if config.Timeout != time.Second || config.Collation != "utf8mb4_bin" {
		t.Errorf("timeout %v, collation %q", config.Timeout, config.Collation)
	}
}

func TestErrorsHoldNoPassword(t *testing.T) {
	t.Parallel()
	for _, dsn := range []report.Secret{
		"user:s3cret",
		"user:s3cret@tcp(host:1",
		"user:s3cret@tcp(host:1)",
		"user:x@s3cret/db",
		"user:pw@tcp(host)/db?timeout=s3cret",
		"user:pw@tcp(host)/db?tls=s3cret",
		"user:pw@tcp(host)/db?parseTime=s3cret",
		"user:pw@tcp(host)/db?serverPubKey=s3cret",
		"user:pw@tcp(host)/%s3cret",
	} {
		db, err := Connect(report.Database{DSN: dsn}, 1, 0)
		if err == nil {
			db.Close()
			t.Errorf("%s: no error", dsn.Reveal())
		} else if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", dsn.Reveal(), err)
		}
	}
	m := testmain.SharedDatabase(t)
	db, err := Connect(report.Database{DSN: report.Secret("nobody:s3cret@tcp(" + m.Addr + ")/")}, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.PingContext(t.Context()); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("ping: %v", err)
	}
}

// TestConnectionsToRecordsEnd: the pool leaves a server that became a replica without closing its connections.
func TestConnectionsToRecordsEnd(t *testing.T) {
	t.Parallel()
	for _, zone := range []*time.Location{nil, time.UTC} {
		db, err := ConnectRecords(report.Database{DSN: "u@tcp(127.0.0.1:1)/s"}, 1, 0, zone)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		// Package sql shows this setting nowhere.
		if of := time.Duration(reflect.ValueOf(db).Elem().FieldByName("maxLifetime").Int()); of != recordsTime {
			t.Errorf("in zone %v, connections live for %v", zone, of)
		}
	}
}

// TestTimeZoneOfSessions: whatever the DSN says, queries run in UTC, and the records
// in the zone of the server, or in the one that is said.
func TestTimeZoneOfSessions(t *testing.T) {
	t.Parallel()
	m, err := testenv.StartDatabase(t.Context(), t.TempDir(), "--default-time-zone=-03:30")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Stop)
	dsn := report.Secret(m.DSN("") + "?time_zone=%27%2B02%3A00%27")
	queries, err := Connect(report.Database{DSN: dsn}, 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer queries.Close()
	plain, err := ConnectRecords(report.Database{DSN: report.Secret(m.DSN(""))}, 2, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	said, err := ConnectRecords(report.Database{DSN: report.Secret(m.DSN(""))}, 2, 0, berlin)
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	_, offset := time.Now().In(berlin).Zone()
	for name, test := range map[string]struct {
		db      *sql.DB
		minutes int
	}{"queries": {queries, 0}, "records": {plain, -210}, "records in Berlin": {said, offset / 60}} {
		for range 3 { // connections are taken again
			var minutes int
			if err := test.db.QueryRowContext(t.Context(), "SELECT TIMESTAMPDIFF(MINUTE, UTC_TIMESTAMP(), NOW())").Scan(&minutes); err != nil || minutes != test.minutes {
				t.Errorf("%s: %d minutes from UTC, want %d; %v", name, minutes, test.minutes, err)
			}
		}
	}
}

// TestLockWaitOfRecords: their statements wait for a locked row for a second, if the DSN says
// nothing else.
func TestLockWaitOfRecords(t *testing.T) {
	t.Parallel()
	dsn := testmain.SharedDatabase(t).DSN("")
	for options, want := range map[string]int{"": 1, "?innodb_lock_wait_timeout=7": 7} {
		db, err := ConnectRecords(report.Database{DSN: report.Secret(dsn + options)}, 1, 0, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var wait int
		if err := db.QueryRowContext(t.Context(), "SELECT @@SESSION.innodb_lock_wait_timeout").Scan(&wait); err != nil || wait != want {
			t.Errorf("%s: %d s, want %d; %v", options, wait, want, err)
		}
	}
}

func TestConnect(t *testing.T) {
	t.Parallel()
	name, _ := testmain.Schema(t)
	db, err := Connect(report.Database{DSN: report.Secret(testmain.SharedDatabase(t).DSN(name))}, 7, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if got := db.Stats().MaxOpenConnections; got != 7 {
		t.Errorf("at most %d connections", got)
	}
	var charset, date string
	if err := db.QueryRow("SELECT @@character_set_connection, TIMESTAMP'2024-01-02 03:04:05.600000'").Scan(&charset, &date); err != nil {
		t.Fatal(err)
	}
	if charset != "utf8mb4" || date != "2024-01-02 03:04:05.600000" {
		t.Errorf("charset %q, date %q", charset, date)
	}
	if _, err := db.Exec("SELECT 1; SELECT 2"); err == nil {
		t.Error("two statements were run as one")
	}
}

// TestTLS needs the authority that signed the server's certificate, and shows the client's own.
func TestTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	authority, err := testenv.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	var extra []string
	issue := func() (cert, key []byte) {
		if cert, key, err = authority.Issue(); err != nil {
			t.Fatal(err)
		}
		return cert, key
	}
	cert, key := issue()
	for name, content := range map[string][]byte{"ca": authority.PEM, "cert": cert, "key": key} {
		file := filepath.Join(dir, name+".pem")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		extra = append(extra, "--ssl-"+name+"="+file)
	}
	m, err := testenv.StartDatabase(t.Context(), dir, extra...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Stop)
	admin, err := m.Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if _, err := admin.ExecContext(t.Context(), "CREATE USER 'fanfold'@'%' REQUIRE X509"); err != nil {
		t.Fatal(err)
	}
	cert, key = issue()
	ours := report.TLS{CA: report.Secret(authority.PEM), Cert: report.Secret(cert), Key: report.Secret(key)}
	for name, c := range map[string]struct {
		tls  report.TLS
		want string
	}{
		"all of it":             {ours, ""},
		"no client certificate": {report.TLS{CA: ours.CA}, "Access denied"},
		"no TLS":                {report.TLS{}, "Access denied"},
		"an unknown authority":  {report.TLS{Cert: ours.Cert, Key: ours.Key}, "unknown authority"},
	} {
		db, err := Connect(report.Database{DSN: report.Secret("fanfold@tcp(" + m.Addr + ")/"), TLS: c.tls}, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		err = db.PingContext(t.Context())
		_ = db.Close()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestZoneOfConnections: those that are made at once share nothing that one of them writes.
func TestZoneOfConnections(t *testing.T) {
	t.Parallel()
	shared := map[string]string{}
	for range 2 {
		config := &mysql.Config{Params: shared}
		if err := inZone(time.UTC)(t.Context(), config); err != nil || config.Params["time_zone"] != "'+00:00'" || len(shared) != 0 {
			t.Errorf("%v %v %v", config.Params, shared, err)
		}
	}
}
