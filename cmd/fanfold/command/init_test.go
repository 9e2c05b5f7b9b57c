package command

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

// account creates an account that can read one schema, and puts its password into an environment
// variable. It returns the address of the schema without the password.
func account(t *testing.T, db *sql.DB, schema, grants string) (address, variable string) {
	t.Helper()
	name := testmain.Name(t)
	user, password := "u"+name[max(0, len(name)-30):], "pa:ss@wo/rd-"+name
	variable = strings.ToUpper(user)
	for _, statement := range []string{
		fmt.Sprintf("CREATE USER '%s'@'%%' IDENTIFIED BY '%s'", user, password),
		fmt.Sprintf("GRANT %s ON `%s`.* TO '%s'@'%%'", grants, schema, user),
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Setenv(variable, password); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Unsetenv(variable) })
	return "mysql://" + user + ":${" + variable + "}@" + testmain.SharedDatabase(t).Addr + "/" + schema, variable
}

// made creates a schema with these statements.
func made(t *testing.T, statements ...string) (schema string, db *sql.DB) {
	t.Helper()
	schema, db = testmain.Schema(t)
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return schema, db
}

// TestInit writes a configuration from two databases and a Redis, and runs its report.
func TestInit(t *testing.T) {
	t.Parallel()
	server, err := testenv.StartRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	fund, fundDB := made(t,
		"CREATE TABLE vs_withdraw (id BIGINT PRIMARY KEY, user_id BIGINT NOT NULL, amount DECIMAL(10,2), `rank` INT, created_at DATETIME NOT NULL, KEY (created_at), KEY (user_id))",
		"INSERT INTO vs_withdraw VALUES (1, 7, 1.50, 1, '2024-01-01 10:00:00'), (2, 8, 2.50, 2, '2024-06-01 11:00:00'), (3, 9, 3.50, 3, '2024-06-02 12:00:00')")
	user, userDB := made(t,
		"CREATE TABLE vs_user (id BIGINT PRIMARY KEY, name VARCHAR(50) CHARACTER SET utf8mb4, password_hash VARCHAR(50))",
		"INSERT INTO vs_user VALUES (7, 'Zoë', 'x'), (8, '李雷', 'x')")
	fundAddress, fundPassword := account(t, fundDB, fund, "SELECT")
	userAddress, userPassword := account(t, userDB, user, "ALL")
	s := withCommands(&e2e.Stack{TB: t, Dir: t.TempDir()})
	s.File = filepath.Join(s.Dir, "fanfold.yaml")
	arguments := []string{"init", "--redis", server.URL(), "--database", "plt_fund=" + fundAddress, "--database", "plt_user=" + userAddress, "--records", "plt_user", "--out", s.File}

	out, errOut, code := s.runApart(arguments...)
	if code != exitOK || !strings.Contains(out, "plt_fund.vs_withdraw with plt_user.vs_user by user_id, from a created_at on") ||
		!strings.Contains(out, fundPassword+", "+userPassword) || !strings.Contains(out, "run vs-withdraw --param from=2024-05-03") {
		t.Fatalf("%d %s %s", code, out, errOut)
	}
	text := read(t, s.File)
	for _, secret := range []string{os.Getenv(fundPassword), os.Getenv(userPassword)} {
		if strings.Contains(text+out, secret) {
			t.Error("a password was written")
		}
	}
	if out, errOut, code := s.runApart(arguments...); code != exitUsage || !strings.Contains(errOut, "the file exists") || read(t, s.File) != text {
		t.Errorf("%d %s %s", code, out, errOut)
	}
	for _, command := range []string{"validate", "migrate", "doctor"} {
		if out, errOut, code := s.runApart(command); code != exitOK {
			t.Fatalf("%s: %d %s %s\n%s", command, code, out, errOut, text)
		}
	}
	s.Serve(s.File)
	file := filepath.Join(s.Dir, "first.csv")
	if out, errOut, code := s.runApart("run", "vs-withdraw", "--file", file); code != exitOK {
		t.Fatalf("%d %s %s", code, out, errOut)
	}
	if got, want := read(t, file), "user_id,id,amount,rank,created_at,name\r\n8,2,2.50,2,2024-06-01 11:00:00,李雷\r\n9,3,3.50,3,2024-06-02 12:00:00,\r\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}

	// The table of records exists now.
	other := filepath.Join(s.Dir, "other.yaml")
	arguments = append(arguments[:len(arguments)-4:len(arguments)-4], "--out", other, "-o", "json")
	if out, errOut, code := s.runApart(arguments...); code != exitOK || !strings.Contains(out, `"records": "plt_user.file_download_record"`) {
		t.Errorf("%d %s %s", code, out, errOut)
	}
}

// TestInitWithoutPairs proposes a report of one table, of the only readable table, and of tables
// whose names are SQL keywords.
func TestInitWithoutPairs(t *testing.T) {
	t.Parallel()
	schema, db := made(t, "CREATE TABLE `order` (`key` INT PRIMARY KEY, `from` VARCHAR(9), `current_date` DATE, `select` BLOB)", "INSERT INTO `order` VALUES (1, 'x', '2024-01-01', '')",
		"CREATE TABLE secret (a INT, b INT, c DATE, KEY (c))", "CREATE VIEW seen AS SELECT `key` AS k, `from` AS f FROM `order`")
	address, variable := account(t, db, schema, "CREATE")
	s := withCommands(&e2e.Stack{TB: t, Dir: t.TempDir()})
	s.File = filepath.Join(s.Dir, "fanfold.yaml")
	try := func(want string, code int) {
		t.Helper()
		if out, errOut, got := s.runApart("init", "--database", "db="+address, "--out", s.File); got != code || !strings.Contains(out+errOut, want) {
			t.Errorf("%d %s %s, want %d %s", got, out, errOut, code, want)
		}
	}
	try("have no tables that a report could show", exitFailure)
	user := "'" + strings.ToLower(variable) + "'@'%'"
	for _, grant := range []string{"GRANT SELECT ON `" + schema + "`.`order` TO " + user, "GRANT INSERT ON `" + schema + "`.secret TO " + user} {
		if _, err := db.Exec(grant); err != nil {
			t.Fatal(err)
		}
	}
	try("shows db.order, from a current_date on", exitOK)
	if text := read(t, s.File); !strings.Contains(text, "SELECT `key`, `from`, `current_date`\n") {
		t.Error(text)
	}
	if out, errOut, code := s.runApart("validate"); code != exitOK {
		t.Errorf("%d %s %s", code, out, errOut)
	}
	address = strings.Replace(address, "${"+variable+"}", "${"+variable+"_X}", 1)
	s.File += ".2"
	try(variable+"_X is not set", exitUsage)
	address = strings.Replace(address, ":${"+variable+"_X}", "", 1)
	try("put the password into the environment variable DB_PASSWORD", exitUnreachable)
}
