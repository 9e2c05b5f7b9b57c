package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

// TestREADME makes the report of the README with its configuration. It compares what the commands print with what
// the README shows: the file, and why a job waits while a database is away. Only addresses and times differ.
func TestREADME(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, nil, e2e.Slow)
	for _, statement := range []string{
		"CREATE TABLE vs_withdraw (id BIGINT PRIMARY KEY, user_id BIGINT, amount DECIMAL(10,2), created_at DATETIME)",
		"INSERT INTO vs_withdraw VALUES (1, 7, 20.50, '2024-06-01 08:00:00'), (2, 8, 99.00, '2024-06-01 09:30:00'), (3, 9, 15.00, '2024-06-02 18:45:00'), (4, 9, 1, '2024-05-31 10:00:00')",
		"CREATE TABLE vs_user_tag (user_id BIGINT, tag VARCHAR(20))",
		"INSERT INTO vs_user_tag VALUES (7, 'new'), (8, 'vip'), (9, 'vip')",
		"CREATE TABLE vs_payment (id BIGINT PRIMARY KEY, user_id BIGINT, amount DECIMAL(10,2))",
		"INSERT INTO vs_payment VALUES (1, 7, 100.00), (2, 8, 250.00), (3, 8, 50.00)",
	} {
		s.Records.Exec(statement)
	}
	server, files := testmain.SharedDatabase(t).DSN(s.Schema), t.TempDir()
	serve := func(fund string) (stop func()) {
		text := fenced(t, "README.md", "yaml")[0]
		for form, value := range map[string]string{
			`redis://127\S+`: "redis://" + s.Server.Addr + "/0", `file:///\S+`: "file://" + files, `app:\$\{USER[^"]*`: server, `app:\$\{FUND[^"]*`: fund,
		} {
			text = regexp.MustCompile(form).ReplaceAllLiteralString(text, value)
		}
		s.File = filepath.Join(s.Dir, "readme.yaml")
		if err := os.WriteFile(s.File, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return s.Serve(s.File)
	}
	shows := consoles(t, "README.md")
	stop := serve(server)
	s.shows(shows[0], nil)
	stop()

	away := e2e.Address(t)
	serve(regexp.MustCompile(`tcp\([^)]*\)`).ReplaceAllLiteralString(server, "tcp("+away+")"))
	s.Records.Exec("INSERT INTO file_download_record (id, report, parameters) VALUES (1111, 'tagged-withdrawals', '{\"tag\": \"vip\", \"from\": \"2024-06-01\"}')")
	s.Jobs.Push("1111")
	s.shows(shows[1], strings.NewReplacer(away, "127.0.0.1:3307"))
}

// console is a command in a page, with what the page shows of its output.
type console struct{ command, output string }

func consoles(t *testing.T, page string) (all []console) {
	t.Helper()
	for _, block := range fenced(t, page, "console") {
		command, output, _ := strings.Cut(block, "\n")
		all = append(all, console{strings.TrimPrefix(command, "$ fanfold "), output})
	}
	return all
}

var (
	aMoment = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+00:00`)
	aPeriod = regexp.MustCompile(`in [\dhm.]+s`)
)

// shows polls until a command prints what the page shows. In it, … stands for any text, and each time and each
// period for another.
func (s commands) shows(c console, rename *strings.Replacer) {
	s.Helper()
	form := aPeriod.ReplaceAllString(aMoment.ReplaceAllString(c.output, "¦"), "in ‖")
	form = "^" + strings.NewReplacer("…", `(?s:.*)`, "¦", aMoment.String(), "‖", `[\dhm.]+s`).Replace(regexp.QuoteMeta(strings.TrimSpace(form))) + "\\s*$"
	expected, output := regexp.MustCompile(form), ""
	defer func() {
		if s.Failed() {
			s.Logf("the page shows\n%s\nand the program says\n%s", c.output, output)
		}
	}()
	s.Eventually(c.command+" shows it", func() bool {
		out, err := command(append([]string{"-c", s.File}, strings.Fields(c.command)...)...).Output()
		if err != nil {
			s.Fatalf("%s: %v", c.command, err)
		}
		output = strings.ReplaceAll(string(out), "\r\n", "\n")
		if rename != nil {
			output = rename.Replace(output)
		}
		return expected.MatchString(output)
	})
}
