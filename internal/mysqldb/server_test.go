package mysqldb

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
)

// TestWhatAServerSaysWhenItIsAway, or when it refuses an account: the numbers are the server's own.
// Each case changes the server and changes it back.
func TestWhatAServerSaysWhenItIsAway(t *testing.T) {
	t.Parallel()
	m, err := testenv.StartDatabase(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Stop)
	admin, err := m.Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	exec := func(statements ...string) {
		t.Helper()
		for _, statement := range statements {
			if _, err := admin.ExecContext(t.Context(), statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
	}
	exec("CREATE DATABASE app", "CREATE TABLE app.t (id INT PRIMARY KEY) ENGINE=InnoDB", "CREATE USER app IDENTIFIED BY 's3cret'", "GRANT SELECT, INSERT, UPDATE ON app.* TO app")
	const insert = "INSERT INTO t VALUES (1)"
	for _, test := range []struct {
		name          string
		before, after []string
		password      string // instead of the right one
		schema        string // instead of app
		statement     string
		away, refused bool
		numbers       []uint16
		only          string
	}{
		{name: "read_only", before: []string{"SET GLOBAL read_only = 1"}, after: []string{"SET GLOBAL read_only = 0"}, statement: insert, away: true, numbers: []uint16{1290}},
		{name: "super_read_only", before: []string{"SET GLOBAL super_read_only = 1"}, after: []string{"SET GLOBAL super_read_only = 0, GLOBAL read_only = 0"}, statement: insert, away: true, numbers: []uint16{1290}, only: "MySQL"},
		{name: "offline_mode", before: []string{"SET GLOBAL offline_mode = 1"}, after: []string{"SET GLOBAL offline_mode = 0"}, statement: "DO 1", away: true, numbers: []uint16{3032}, only: "MySQL"},
		{name: "too many statements of the account", before: []string{"ALTER USER app WITH MAX_UPDATES_PER_HOUR 1"}, after: []string{"ALTER USER app WITH MAX_UPDATES_PER_HOUR 0"}, statement: "UPDATE t SET id = 9 WHERE id = 8", away: true, numbers: []uint16{1226}},
		{name: "a wrong password", password: "wrong", statement: "DO 1", away: true, refused: true, numbers: []uint16{1045}},
		{name: "no such schema", schema: "elsewhere", statement: "DO 1", refused: true, numbers: []uint16{1044, 1049}},
		{name: "a locked account", before: []string{"ALTER USER app ACCOUNT LOCK"}, after: []string{"ALTER USER app ACCOUNT UNLOCK"}, statement: "DO 1", refused: true, numbers: []uint16{3118, 4151}},
		{name: "a password that has expired", before: []string{"ALTER USER app PASSWORD EXPIRE"}, after: []string{"ALTER USER app IDENTIFIED BY 's3cret'"}, statement: "DO 1", refused: true, numbers: []uint16{1820, 1862}},
		{name: "an account that needs TLS", before: []string{"ALTER USER app REQUIRE SSL"}, after: []string{"ALTER USER app REQUIRE NONE"}, statement: "DO 1", away: true, refused: true, numbers: []uint16{1045}},
		{name: "no access", statement: "SELECT * FROM mysql.user", numbers: []uint16{1142}},
		{name: "a lock that is not free", before: []string{"BEGIN; INSERT INTO app.t VALUES (1)"}, after: []string{"ROLLBACK"}, statement: insert, numbers: []uint16{1205}},
		{name: "a query that is killed", statement: "KILL QUERY CONNECTION_ID()", numbers: []uint16{1317}},
	} {
		if test.only == "MySQL" && !m.MySQL {
			continue
		}
		admin.SetMaxOpenConns(1)
		exec(test.before...)
		password, schema := "s3cret", "app"
		if test.password != "" {
			password = test.password
		}
		if test.schema != "" {
			schema = test.schema
		}
		db, err := ConnectRecords(report.Database{DSN: report.Secret("app:" + password + "@tcp(" + m.Addr + ")/" + schema)}, 1, 0, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		for range 2 { // the second one exceeds a limit of one an hour
			_, err = db.ExecContext(ctx, test.statement)
		}
		cancel()
		_ = db.Close()
		exec(test.after...)
		var answer *mysql.MySQLError
		if !errors.As(err, &answer) || !slices.Contains(test.numbers, answer.Number) {
			t.Errorf("%s: %v, want one of %d", test.name, err, test.numbers)
			continue
		}
		if Away(err) != test.away || Refused(err) != test.refused {
			t.Errorf("%s: away %v, refused %v: %v", test.name, Away(err), Refused(err), err)
		}
	}
}

// TestAConnectionThatTheServerClosed was idle for too long: the pool notices before it sends a
// statement. MySQL says so in a packet (4031), MariaDB says nothing.
func TestAConnectionThatTheServerClosed(t *testing.T) {
	t.Parallel()
	db, err := ConnectRecords(report.Database{DSN: report.Secret(testmain.SharedDatabase(t).DSN("") + "?wait_timeout=1")}, 1, 0, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, admin := testmain.Schema(t)
	var before, after, connected int
	if err := db.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&before); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for connected = 1; connected > 0; <-tick.C {
		if err := admin.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = ?", before).Scan(&connected); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&after); err != nil || after == before {
		t.Errorf("connection %d after %d: %v", after, before, err)
	}
}

// TestCachingSHA2 is how MySQL checks passwords: without TLS they are encrypted with the server's RSA
// key. A server without that key accepts only TLS.
func TestCachingSHA2(t *testing.T) {
	t.Parallel()
	m, err := testenv.StartDatabase(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Stop() })
	if !m.MySQL {
		t.Skip("only MySQL has caching_sha2_password")
	}
	admin, err := m.Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	ping := func(options string) error {
		t.Helper()
		db, err := Connect(report.Database{DSN: report.Secret("app:s3cret@tcp(" + m.Addr + ")/" + options)}, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		return db.PingContext(t.Context())
	}
	if _, err := admin.ExecContext(t.Context(), "CREATE USER app IDENTIFIED BY 's3cret'"); err != nil {
		t.Fatal(err)
	}
	for _, attempt := range []string{"the first", "one of a password that the server has seen"} {
		if err := ping(""); err != nil {
			t.Errorf("%s login without TLS: %v", attempt, err)
		}
	}
	m.Stop()
	if err := m.Start(t.Context(), "--caching-sha2-password-auto-generate-rsa-keys=OFF", "--caching-sha2-password-private-key-path=none.pem", "--caching-sha2-password-public-key-path=none.pem"); err != nil {
		t.Fatal(err)
	}
	if err := ping(""); !Refused(err) || !strings.Contains(err.Error(), "use TLS") {
		t.Errorf("a server without a key: refused %v: %v", Refused(err), err)
	}
	if err := ping("?tls=skip-verify"); err != nil {
		t.Errorf("with TLS: %v", err)
	}
	if err := ping(""); err != nil {
		t.Errorf("after a login with TLS: %v", err)
	}
}

// TestRotationOfAPassword: MySQL accepts the old password beside the new one until it is discarded.
// MariaDB does not know the statement: there, a second account is needed.
func TestRotationOfAPassword(t *testing.T) {
	t.Parallel()
	m := testmain.SharedDatabase(t)
	admin, err := m.Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	exec := func(statement string) error {
		_, err := admin.ExecContext(t.Context(), statement)
		return err
	}
	works := func(password string) bool {
		db, err := ConnectRecords(report.Database{DSN: report.Secret("rotated:" + password + "@tcp(" + m.Addr + ")/")}, 1, 0, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		return db.PingContext(t.Context()) == nil
	}
	if err := exec("CREATE USER rotated IDENTIFIED BY 'old'"); err != nil {
		t.Fatal(err)
	}
	if err := exec("ALTER USER rotated IDENTIFIED BY 'new' RETAIN CURRENT PASSWORD"); (err == nil) != m.MySQL {
		t.Fatal(err)
	}
	if !works("old") || works("new") != m.MySQL {
		t.Errorf("old %t, new %t", works("old"), works("new"))
	}
	if !m.MySQL {
		return
	}
	if err := exec("ALTER USER rotated DISCARD OLD PASSWORD"); err != nil {
		t.Fatal(err)
	}
	if works("old") || !works("new") {
		t.Errorf("discarded: old %t, new %t", works("old"), works("new"))
	}
}
