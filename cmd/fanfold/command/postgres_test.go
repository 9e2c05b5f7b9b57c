package command

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
)

// TestInitWithPostgres writes a configuration for MySQL and PostgreSQL, and runs its report over both: values of MySQL
// find rows of PostgreSQL, and the fold joins them.
func TestInitWithPostgres(t *testing.T) {
	t.Parallel()
	server, err := testenv.StartRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	fund, fundDB := made(t,
		"CREATE TABLE vs_withdraw (id BIGINT PRIMARY KEY, user_id BIGINT NOT NULL, amount DECIMAL(10,2), created_at DATETIME NOT NULL, KEY (created_at), KEY (user_id))",
		"INSERT INTO vs_withdraw VALUES (1, 7, 1.50, '2024-01-01 10:00:00'), (2, 8, 2.50, '2024-06-01 11:00:00'), (3, 9, 3.50, '2024-06-02 12:00:00'), (4, 5000000000, 4.50, '2024-06-03 12:00:00')")
	fundAddress, _ := account(t, fundDB, fund, "ALL")
	user := testmain.PostgresDatabase(t, "CREATE SCHEMA crm", `CREATE TABLE crm."Users" (id int PRIMARY KEY, name text, joined timestamptz, `+
		"balance numeric(12,2), active boolean, profile jsonb)",
		`INSERT INTO crm."Users" VALUES (7, 'Zoë', '2024-01-01 01:00+01', 1, true, '{}'), (8, '李雷', '2024-02-01 01:00+01', 2.5, false, '{}')`)
	userAddress := strings.TrimSuffix(testmain.SharedPostgres(t).DSN(user), "?sslmode=disable")
	s := withCommands(&e2e.Stack{TB: t, Dir: t.TempDir()})
	s.File = filepath.Join(s.Dir, "fanfold.yaml")
	out, errOut, code := s.runApart("init", "--redis", server.URL(), "--database", "plt_user="+userAddress,
		"--database", "plt_fund="+fundAddress, "--out", s.File)
	if code != exitOK || !strings.Contains(out, "plt_fund.vs_withdraw with plt_user.crm_Users by user_id, from a created_at on") {
		t.Fatalf("%d %s %s", code, out, errOut)
	}
	text := read(t, s.File)
	if !strings.Contains(text, "# Columns that are left out: profile.\n") {
		t.Error(text)
	}
	for _, command := range []string{"validate", "migrate", "doctor"} {
		out, errOut, code := s.runApart(command)
		if code != exitOK {
			t.Fatalf("%s: %d %s %s\n%s", command, code, out, errOut, text)
		}
		if command == "doctor" && !strings.Contains(out, "PostgreSQL ") {
			t.Error(out)
		}
	}
	s.Serve(s.File)
	file := filepath.Join(s.Dir, "first.csv")
	if out, errOut, code := s.runApart("run", "vs-withdraw", "--file", file); code != exitOK {
		t.Fatalf("%d %s %s\n%s", code, out, errOut, text)
	}
	const want = "user_id,id,amount,created_at,name,joined,balance,active\r\n" +
		"8,2,2.50,2024-06-01 11:00:00,李雷,2024-02-01 00:00:00,2.50,0\r\n" +
		"9,3,3.50,2024-06-02 12:00:00,,,,\r\n" +
		"5000000000,4,4.50,2024-06-03 12:00:00,,,,\r\n"
	if got := read(t, file); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestPostgresInAFold: columns of MySQL and PostgreSQL meet in a fold by their values. Texts of PostgreSQL are equal if
// their bytes are, and those of citext only by COLLATE. Times are shown in one zone.
func TestPostgresInAFold(t *testing.T) {
	t.Parallel()
	pg := testmain.PostgresDatabase(t, "CREATE EXTENSION citext", "CREATE TABLE p (name text, loose citext, code char(4), amount numeric, "+
		"at timestamptz, wall timestamp(3), active boolean, raw bytea, doc jsonb, day date)",
		`INSERT INTO p VALUES ('Anna', 'BEN', 'a', 1.50, '2024-07-01 12:00+02', '2024-07-01 12:00:00.25', true, '\x00ff', '{"k": [1]}', '2024-07-01'), `+
			"('carl', 'x', 'b', 20, '2024-01-01 00:00+00', '2024-01-01 01:00', false, '', 'null', '2024-01-01'), (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)")
	s := newStack(t, `
  bytes: &both
    listeners:
      m: {database: db, query: "SELECT name, other, code, amount, at, wall, flag FROM m"}
      p: {database: pg, query: "SELECT name, loose, code, amount, at, wall, active, raw, doc, day FROM p WHERE name IN (:m.other) OR name IS NULL"}
    fold: "SELECT m.name, p.amount FROM m JOIN p ON m.name = p.name"
  collate:
    <<: *both
    fold: "SELECT m.name, p.amount, p.loose FROM m JOIN p ON m.name = p.name COLLATE utf8mb4_general_ci ORDER BY p.name"
  loose:
    <<: *both
    fold: "SELECT m.name FROM m JOIN p ON m.name = p.loose"
  values:
    <<: *both
    fold: "SELECT p.code, p.amount * 2 AS twice, SUM(p.active) AS n, JSON_VALUE(p.doc, '$.k[0]') AS k, p.raw, DATE_FORMAT(p.day, '%d.%m.%Y') AS day FROM m JOIN p ON m.code = p.code AND m.amount = p.amount AND m.flag = p.active GROUP BY p.code, p.amount, p.doc, p.raw, p.day"
  times:
    <<: *both
    fold: "SELECT p.at, p.wall, m.at AS mine FROM m JOIN p ON m.at = p.at AND m.wall = p.wall ORDER BY p.at"
    file: {time_zone: Asia/Tokyo}
`, `databases: {db: {dsn: "{dsn}", time_zone: Europe/Berlin}, pg: {dsn: "`+testmain.SharedPostgres(t).DSN(pg)+`", time_zone: Europe/Berlin}}`)
	for _, statement := range []string{
		"CREATE TABLE m (name VARCHAR(9) COLLATE utf8mb4_general_ci, other VARCHAR(9), code CHAR(4) COLLATE utf8mb4_general_ci, amount DECIMAL(9,3), at TIMESTAMP NULL, wall DATETIME(6), flag BOOLEAN)",
		"SET time_zone = '+00:00'",
		"INSERT INTO m VALUES ('anna', 'Anna', 'A', 1.5, '2024-07-01 10:00:00', '2024-07-01 12:00:00.25', TRUE), ('carl', 'carl', 'b', 20, '2024-01-01', '2024-01-01 01:00', FALSE), ('a', 'Anna', 'a', 1.5, NULL, NULL, TRUE)",
	} {
		s.Records.Exec(statement)
	}
	s.Serve(s.File)
	for name, want := range map[string]string{
		"bytes":   "name,amount\r\ncarl,20\r\n",
		"collate": "name,amount,loose\r\nanna,1.50,BEN\r\ncarl,20,x\r\n",
		"values":  "code,twice,n,k,raw,day\r\nb,40,0,,,01.01.2024\r\na,3.00,1,1,AP8=,01.07.2024\r\n",
		"times":   "at,wall,mine\r\n2024-01-01 09:00:00,2024-01-01 09:00:00,2024-01-01 09:00:00\r\n2024-07-01 19:00:00,2024-07-01 19:00:00.25,2024-07-01 19:00:00\r\n",
	} {
		if diff := cmp.Diff(want, s.Jobs.Succeed(name, "")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if job := s.Jobs.Run("loose", ""); job.Status != report.Failed || !strings.Contains(job.Error, "citext") {
		t.Errorf("%+v", job)
	}
}
