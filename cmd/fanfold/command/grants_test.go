package command

import (
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
)

// TestGrantsOfTheGuide: serve and a service that asks for reports work with exactly the SQL grants that
// the guide gives, and have no more rights. (TestMigrateWithTheGrantsOfTheDocs runs those of migrate.)
func TestGrantsOfTheGuide(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, nil, "  r: {listeners: {vs_withdraw: {database: db, query: SELECT user_id FROM vs_withdraw}}}\n")
	s.Records.Exec("CREATE TABLE vs_withdraw (user_id INT)")
	s.Records.Exec("INSERT INTO vs_withdraw VALUES (7)")
	s.Records.Exec("CREATE TABLE secret (user_id INT)")
	server := testmain.SharedDatabase(t)
	grants := fenced(t, "docs/reference/configuration.md", "sql")
	ofGuide := fenced(t, "docs/guides/security.md", "sql")
	name := testmain.Name(t)
	name = name[max(0, len(name)-25):]
	users := map[string]*sql.DB{}
	dsn := server.DSN(s.Schema)
	_, after, _ := strings.Cut(dsn, "@")
	for user, page := range map[string]string{"app": grants[len(grants)-1], "orders": ofGuide[0]} {
		s.Records.Exec("CREATE USER '" + user + name + "'@'%' IDENTIFIED BY 'pw'")
		all := regexp.MustCompile(`(?m)^GRANT .* TO `+user+`;$`).FindAllString(page, -1)
		if len(all) == 0 {
			t.Fatalf("no grants for %s", user)
		}
		for _, grant := range all {
			s.Records.Exec(strings.NewReplacer("plt_user.", "`"+s.Schema+"`.", "plt_fund.", "`"+s.Schema+"`.", "TO "+user+";", "TO '"+user+name+"'@'%'").Replace(grant))
		}
		db, err := sql.Open("mysql", user+name+":pw@"+after)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		users[user] = db
	}
	whole, err := os.ReadFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	s.File = filepath.Join(s.Dir, "app.yaml")
	if err := os.WriteFile(s.File, []byte(strings.ReplaceAll(string(whole), dsn, "app"+name+":pw@"+after)), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Use(s.File)
	s.Serve(s.File)
	// As the service does it.
	result, err := users["orders"].ExecContext(t.Context(), "INSERT INTO file_download_record (report) VALUES ('r')")
	if err != nil {
		t.Fatal(err)
	}
	number, err := result.LastInsertId()
	if err != nil {
		t.Fatal(err)
	}
	var id string
	if err := users["orders"].QueryRowContext(t.Context(), "SELECT id FROM file_download_record WHERE id = ?", number).Scan(&id); err != nil {
		t.Fatal(err)
	}
	s.Jobs.Push(id)
	if v := s.Jobs.Wait(id)[0]; v.Status != report.Success {
		t.Errorf("%+v", v)
	}
	if v := s.Jobs.Run("r", ""); v.Status != report.Success {
		t.Errorf("%+v", v)
	}
	for _, command := range []string{"doctor", "list", "why " + id} {
		if out, _ := s.fanfold(strings.Fields(command)...); strings.Contains(out, "denied") {
			t.Errorf("%s: %s", command, out)
		}
	}
	for user, statements := range map[string][]string{
		"app":    {"DELETE FROM file_download_record", "SELECT * FROM secret", "UPDATE vs_withdraw SET user_id = 8", "CREATE TABLE other (id INT)", "DROP TABLE vs_withdraw"},
		"orders": {"UPDATE file_download_record SET status = 'SUCCESS'", "DELETE FROM file_download_record", "SELECT * FROM vs_withdraw", "SELECT * FROM fanfold_meta"},
	} {
		for _, statement := range statements {
			if _, err := users[user].ExecContext(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "denied") {
				t.Errorf("%s: %s: %v", user, statement, err)
			}
		}
	}
}
