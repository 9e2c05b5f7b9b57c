package command

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
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
