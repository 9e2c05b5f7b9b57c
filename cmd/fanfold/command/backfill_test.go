package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

// daily is a report of days. It waits for those in the table holds, and fails for those in the table broken.
const daily = `
  daily:
    retry: 0
    parameters: {day: date, tag: {type: string, default: a}}
    listeners:
      one:
        database: db
        query: >-
          SELECT :day AS day, :tag AS tag, SLEEP(COALESCE((SELECT MAX(seconds) FROM holds WHERE day = :day), 0)) AS s,
          (SELECT 1 FROM broken WHERE day = :day UNION SELECT 2 FROM broken WHERE day = :day) AS b
  ranges:
    parameters: {who: string, from: date, to: date, paid: {type: date, default: today}}
    listeners: {one: {database: db, query: "SELECT :who AS who, :from AS first, :to AS last, :paid AS paid"}}
`

// days makes the tables of the report daily.
func (s *stack) days() {
	s.Helper()
	s.Records.Exec("CREATE TABLE holds (day VARCHAR(10), seconds DECIMAL(5,2))")
	s.Records.Exec("CREATE TABLE broken (day VARCHAR(10))")
}

// fill runs a backfill with -o json, and returns its periods by their first days.
func (s *stack) fill(want int, args ...string) map[string]runView {
	s.Helper()
	out, errOut, code := s.runApart(append([]string{"submit", "-o", "json"}, args...)...)
	var list []runView
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != want {
		s.Fatalf("%v: %d %v\n%s\n%s", args, code, err, out, errOut)
	}
	views := map[string]runView{}
	for _, v := range list {
		views[v.First] = v
	}
	return views
}

// perDay returns the number of records of every value of a parameter.
func (s *stack) perDay(parameter string) map[string]int {
	s.Helper()
	found, err := s.Process.Records.List(s.Context(), record.Filter{}, 1000)
	if err != nil {
		s.Fatal(err)
	}
	counts := map[string]int{}
	for _, r := range found {
		fields, err := report.ParameterFields(r.Parameters)
		if err != nil {
			s.Fatal(err)
		}
		counts[strings.Trim(string(fields[parameter]), `"`)]++
	}
	return counts
}

// TestBackfill: every day of a range gets one record, whatever exists, and at most so many of them run at once.
func TestBackfill(t *testing.T) {
	t.Parallel()
	s := newStack(t, daily)
	s.days()
	s.Records.Exec("CREATE TABLE unfinished (n INT)")
	s.Records.Exec(`CREATE TRIGGER counts AFTER INSERT ON file_download_record FOR EACH ROW INSERT INTO unfinished
		SELECT COUNT(*) FROM file_download_record WHERE status IN ('PENDING', 'PROCESSING')`)
	// One record was not pushed, one is of other people, and others have other parameters.
	lost := s.Records.Insert("daily", `{"day": "2024-02-28"}`)
	s.Records.Insert("daily", `{"day": "2024-03-03", "tag": "b"}`)
	s.Records.Insert("daily", `{"day": "today"}`)
	s.Records.Exec("UPDATE file_download_record SET status = 'CANCELLED'")
	s.Records.Exec("UPDATE file_download_record SET status = 'PENDING' WHERE id = ?", lost)
	args := []string{"daily", "--each-day", "2024-02-28..2024-03-04", "--running", "2"}

	plan := s.fill(exitOK, append(args, "--dry-run")...)
	if len(plan) != 6 || plan["2024-02-28"].ID != lost || !plan["2024-02-28"].Existed || plan["2024-03-03"].ID != "" ||
		!strings.Contains(string(plan["2024-02-29"].Parameters), `"day": "2024-02-29"`) {
		t.Errorf("%+v", plan)
	}
	if n := s.Records.Number("SELECT COUNT(*) FROM file_download_record"); n != 3 {
		t.Errorf("--dry-run left %d records", n)
	}
	s.Serve(s.File)
	s.Records.Exec("DELETE FROM unfinished")
	s.Records.Exec("INSERT INTO holds VALUES ('2024-02-28', 1), ('2024-02-29', 0.3), ('2024-03-02', 0.3)")
	out, errOut, code := s.runApart(append([]string{"submit"}, args...)...)
	if code != exitOK || strings.Count(out, "SUCCESS") != 6 ||
		!strings.Contains(errOut, "2024-02-28: record "+lost+" exists") || !strings.Contains(errOut, "2024-02-29: record 4 was created") ||
		!strings.Contains(errOut, "SUCCESS: file://") || !strings.Contains(errOut, "(6 done, 0 running, 0 failed, 0 left)") || !strings.Contains(errOut, "ETA ") {
		t.Errorf("%d\n%s\n%s", code, out, errOut)
	}
	if n := s.Records.Number("SELECT MAX(n) FROM unfinished"); n != 2 {
		t.Errorf("%d jobs were unfinished at once", n)
	}
	want := map[string]int{"2024-02-28": 1, "2024-02-29": 1, "2024-03-01": 1, "2024-03-02": 1, "2024-03-03": 2, "2024-03-04": 1, "today": 1}
	if got := s.perDay("day"); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v", got)
	}
	// The same again creates nothing, also with the default written out, and after Redis has lost its memory.
	s.Server.FlushAll()
	again := s.fill(exitOK, append(args, "--param", "tag=a")...)
	if v := again["2024-02-28"]; v.ID != lost || !v.Existed || v.Status != report.Success || v.Attempt != 1 || len(again) != 6 {
		t.Errorf("%+v", again)
	}
	if got := s.perDay("day"); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v", got)
	}
	// Other parameters are other records, and so is one for a record that was deleted.
	s.Records.Exec("DELETE FROM file_download_record WHERE id = 4")
	if v := s.fill(exitOK, args...)["2024-02-29"]; v.ID == "4" || v.Existed || v.Status != report.Success {
		t.Errorf("%+v", v)
	}
	if v := s.fill(exitJobFailed, "daily", "--each-day", "2024-03-01..2024-03-03", "--param", "tag=b", "--retry-failed"); v["2024-03-01"].Existed || v["2024-03-03"].Status != report.Cancelled {
		t.Errorf("%+v", v)
	}
}

// TestBackfillGoesOn: after an interruption, the same command waits for what runs and creates the rest. It names
// what has failed, and runs that again only if it is told to.
func TestBackfillGoesOn(t *testing.T) {
	t.Parallel()
	s := newStack(t, daily)
	s.days()
	s.Serve(s.File)
	s.Records.Exec("INSERT INTO holds VALUES ('2024-01-03', 3)")
	s.Records.Exec("INSERT INTO broken VALUES ('2024-01-02')")
	args := []string{"submit", "daily", "--each-day", "2024-01-01..2024-01-08", "--running", "1"}
	ctx, interrupt := context.WithCancel(t.Context())
	var out bytes.Buffer
	done := make(chan int)
	go func() { done <- run(ctx, append([]string{"-c", s.File}, args...), &out, &out) }()
	s.Eventually("the third day runs", func() bool { return s.Records.Number("SELECT COUNT(*) FROM file_download_record") == 3 })
	interrupt()
	if code := <-done; code != exitFailure || !strings.Contains(out.String(), "2 of 8 periods have ended, and jobs that run continue. The same command goes on from here") {
		t.Fatalf("%d %s", code, out.String())
	}
	if n := s.Records.Number("SELECT COUNT(*) FROM file_download_record"); n != 3 {
		t.Fatalf("%d records after the interruption", n)
	}
	text, errOut, code := s.runApart(args...)
	if code != exitJobFailed || strings.Count(text, "SUCCESS") != 7 || !strings.Contains(errOut, "2024-01-03: record 3 exists") ||
		!strings.Contains(errOut, "1 of 8 periods failed\n2024-01-02: record 2 is FAILED\n") || strings.Contains(errOut, "record 2 is retried") {
		t.Errorf("%d\n%s\n%s", code, text, errOut)
	}
	if got := s.perDay("day"); len(got) != 8 || s.Records.Number("SELECT COUNT(*) FROM file_download_record") != 8 {
		t.Errorf("%v", got)
	}
	if v := s.fill(exitJobFailed, append(args[1:], "--retry-failed")...)["2024-01-02"]; v.ID != "2" || v.Attempt != 2 || v.Status != report.Failed || v.Error == "" {
		t.Errorf("%+v", v)
	}
	s.Records.Exec("DELETE FROM broken")
	if v := s.fill(exitOK, append(args[1:], "--retry-failed")...); v["2024-01-02"].Attempt != 3 || v["2024-01-01"].Attempt != 1 {
		t.Errorf("%+v", v)
	}
	s.Jobs.Idle()
	// Of several records of a day, one with a file counts, whether it is older or newer.
	for id, updated := range map[string]string{"5": "NOW() + INTERVAL 1 HOUR", "6": "NOW() - INTERVAL 1 DAY"} {
		s.Records.Exec(`INSERT INTO file_download_record (report, parameters, status, updated_at)
			SELECT report, parameters, 'FAILED', `+updated+` FROM file_download_record WHERE id = ?`, id)
	}
	v := s.fill(exitOK, append(args[1:], "--retry-failed")...)
	for id, day := range map[string]string{"5": "2024-01-05", "6": "2024-01-06"} {
		if v[day].Status != report.Success || v[day].ID != id {
			t.Errorf("%s: %+v", day, v[day])
		}
	}
}

// TestBackfillsAtOnce: two backfills of the same range create one record for every day.
func TestBackfillsAtOnce(t *testing.T) {
	t.Parallel()
	s := newStack(t, daily)
	s.days()
	s.Serve(s.File)
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			out, code := s.fanfold("submit", "daily", "--each-day", "2024-01-01..2024-01-12")
			if code != exitOK || strings.Count(out, "file://") < 12 {
				t.Errorf("%d %s", code, out)
			}
		})
	}
	group.Wait()
	if n := s.Records.Number("SELECT COUNT(*) FROM file_download_record"); n != 12 {
		t.Errorf("%d records", n)
	}
}

// TestBackfillPeriods: weeks and months go into two parameters, and what cannot be done changes nothing.
func TestBackfillPeriods(t *testing.T) {
	t.Parallel()
	s := newStack(t, daily)
	s.days()
	s.Serve(s.File)
	for _, c := range []struct{ as, unit, days, want string }{
		{"from,to", "--each-month", "2024-01-15..2024-02-29", `{"from":"2024-01-15","to":"2024-01-31","who":"it's"} {"from":"2024-02-01","to":"2024-02-29","who":"it's"}`},
		{"from,to", "--each-week", "2024-03-02..2024-03-10", `{"from":"2024-03-02","to":"2024-03-03","who":"it's"} {"from":"2024-03-04","to":"2024-03-10","who":"it's"}`},
	} {
		var got []string
		args := []string{"ranges", c.unit, c.days, "--as", c.as, "--param"}
		for _, v := range s.fill(exitOK, append(args, "who=it's")...) {
			got = append(got, s.parameters(v.ID))
		}
		for who, existed := range map[string]bool{"it's": true, "x": false} {
			for _, v := range s.fill(exitOK, append(args, "who="+who)...) {
				if v.Existed != existed {
					t.Errorf("who=%s: %+v", who, v)
				}
			}
		}
		for _, one := range strings.Fields(c.want) {
			if len(got) != 2 || !strings.Contains(strings.Join(got, " "), one) {
				t.Errorf("%s: %v, not %s", c.unit, got, c.want)
			}
		}
	}
	before := s.Records.Number("SELECT COUNT(*) FROM file_download_record")
	for args, part := range map[string]string{
		"ranges --each-day 2024-01-01..2024-01-02":                                   "it has from, to, paid. Name them with --as FIRST or --as FIRST,LAST",
		"ranges --each-day 2024-01-01..2024-01-02 --as paid --param who=x":           "parameter from (date) is missing: give --param from=VALUE",
		"daily --each-day 2024-01-01":                                                "--each-day: 2024-01-01 is not a range",
		"daily --each-day 2024-01-01..2024-01-02 --each-week 2024-01-01..2024-01-02": "--each-day and --each-week: give one of them",
		"daily --each-day 2024-01-01..2024-01-02 --param day=2024-01-01":             "--param day: the period sets it",
		"daily --each-day 2024-01-01..2024-01-02 --param tga=x":                      "did you mean tag?",
		"daily --each-day 2024-01-01..2024-01-02 --running 0":                        "--running: 0 is less than 1",
		"daily --each-day 2024-01-01..2024-01-02 --in 10m":                           "--in does not apply to --each-day",
		"daily --each-day 2024-01-01..2024-01-02 --wait":                             "--wait does not apply to --each-day",
		"daily 1 --each-day 2024-01-01..2024-01-02":                                  "--each-day takes one report, not 2 arguments",
		"dayly --each-day 2024-01-01..2024-01-02":                                    `Did you mean "daily"?`,
		"1 --param a=b": "--param requires --each-day, --each-week or --each-month",
		"1 --dry-run":   "--dry-run requires --each-day, --each-week or --each-month",
	} {
		out, code := s.fanfold(append([]string{"submit"}, strings.Fields(args)...)...)
		if code != exitUsage || !strings.Contains(out, part) {
			t.Errorf("%s: %d %s", args, code, out)
		}
	}
	if n := s.Records.Number("SELECT COUNT(*) FROM file_download_record"); n != before {
		t.Errorf("%d records more", n-before)
	}
}

// TestBackfillOfTheWrongDays: submit names the flag that a report needs, and says if only first days are read.
func TestBackfillOfTheWrongDays(t *testing.T) {
	t.Parallel()
	s := newStack(t, daily)
	for args, want := range map[string]string{
		"daily":  "daily is a report: fanfold run daily runs it, and --each-day FIRST..LAST for every day of a range\n",
		"ranges": "ranges is a report: fanfold run ranges runs it\n",
	} {
		if out, code := s.fanfold("submit", args); code == exitOK || !strings.HasSuffix(out, want) {
			t.Errorf("%s: %d %s", args, code, out)
		}
	}
	for args, warns := range map[string]bool{
		"daily --each-week": true, "daily --each-month": true, "daily --each-day": false,
		"daily --as day --each-month": false, "ranges --param who=x --as from,to --each-month": false,
	} {
		_, out, code := s.runApart(append([]string{"submit"}, strings.Fields(args+" 2024-01-01..2024-01-31 --dry-run")...)...)
		if code != exitOK || strings.Contains(out, "warning: day is the only date of daily and gets the first day of every ") != warns {
			t.Errorf("%s: %d %q", args, code, out)
		}
	}
}

// TestBackfillWithoutColumns: a table that cannot have the periods is refused with the remedy.
func TestBackfillWithoutColumns(t *testing.T) {
	t.Parallel()
	s := newStack(t, daily)
	s.days()
	args := []string{"submit", "daily", "--each-day", "2024-01-01..2024-01-02"}
	s.Records.Exec("RENAME TABLE fanfold_request TO hidden")
	if out, code := s.fanfold(args...); code != exitFailure || !strings.Contains(out, "the table of requests does not exist") || !strings.Contains(out, "create it with fanfold migrate") {
		t.Errorf("%d %s", code, out)
	}
	s.Records.Exec("RENAME TABLE hidden TO fanfold_request")
	s.File = s.Write("without.yaml", daily, "\n"+`records: {database: db, columns: {parameters: "-"}}`)
	if out, code := s.fanfold(args...); code != exitFailure || !strings.Contains(out, "has no column for parameters") || !strings.Contains(out, "name it in records.columns.parameters") {
		t.Errorf("%d %s", code, out)
	}
	s.Records.Exec("ALTER TABLE file_download_record MODIFY id BIGINT UNSIGNED NOT NULL DEFAULT 0")
	s.File = s.Write("uncounted.yaml", daily)
	if out, code := s.fanfold(args...); code != exitFailure || !strings.Contains(out, "does not generate the table's ids: only its service can insert rows") || strings.Contains(out, "The same command") {
		t.Errorf("%d %s", code, out)
	}
	if n := s.Records.Number("SELECT COUNT(*) FROM file_download_record"); n != 0 {
		t.Errorf("%d records", n)
	}
}

// TestBackfillInPostgres: the records can be in PostgreSQL.
func TestBackfillInPostgres(t *testing.T) {
	t.Parallel()
	server, err := testenv.StartPostgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	s := withCommands(e2e.NewAlone(t, nil, daily, fmt.Sprintf(
		"\ndatabases: {db: {dsn: \"{dsn}\"}, records: {dsn: %q}}\nrecords: {database: records}", server.DSN("postgres"))))
	s.must("migrate", "")
	for _, statement := range []string{
		"CREATE TABLE holds (day VARCHAR(10), seconds DECIMAL(5,2))", "CREATE TABLE broken (day VARCHAR(10))", "INSERT INTO broken VALUES ('2024-02-29')",
	} {
		if _, err := s.DB.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	s.Serve(s.File)
	other := s.Records.Insert("daily", `{"tag": "it's", "day": "2024-02-28"}`)
	args := []string{"daily", "--each-day", "2024-02-28..2024-03-01", "--param", "tag=it's"}
	first := s.fill(exitJobFailed, args...)
	if v := first["2024-02-28"]; v.ID != other || !v.Existed || v.Status != report.Success || first["2024-02-29"].Status != report.Failed {
		t.Errorf("%+v", first)
	}
	if _, err := s.DB.ExecContext(t.Context(), "DELETE FROM broken"); err != nil {
		t.Fatal(err)
	}
	again := s.fill(exitOK, append(args, "--retry-failed")...)
	if v := again["2024-02-29"]; v.ID != first["2024-02-29"].ID || v.Attempt != 2 || again["2024-03-01"].Attempt != 1 {
		t.Errorf("%+v", again)
	}
	if n := s.Records.Number("SELECT COUNT(*) FROM file_download_record"); n != 3 {
		t.Errorf("%d records", n)
	}
}

// TestBackfillThatIsKilled: after kill -9, and after an outage of Redis, the same command goes on.
func TestBackfillThatIsKilled(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, nil, daily)
	s.days()
	s.Serve(s.File)
	s.Records.Exec("INSERT INTO holds SELECT '2024-01-01' + INTERVAL seq DAY, 0.2 FROM seq_0_to_29")
	args := []string{"submit", "daily", "--each-day", "2024-01-01..2024-01-30", "--running", "3"}
	records := func() int { return s.Records.Number("SELECT COUNT(*) FROM file_download_record") }
	for _, n := range []int{2, 6, 9, 13} {
		c := s.process(append([]string{"-c", s.File}, args...)...)
		s.Eventually("it has created records", func() bool { return records() >= n })
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait()
	}
	var out bytes.Buffer
	done := make(chan int)
	go func() { done <- run(t.Context(), append([]string{"-c", s.File}, args...), &out, &out) }()
	s.Eventually("it has created records", func() bool { return records() >= 17 })
	s.Server.Kill()
	if code := <-done; code != exitUnreachable || !strings.Contains(out.String(), "The same command goes on from here") {
		t.Errorf("%d %s", code, out.String())
	}
	if err := s.Server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text, errOut, code := s.runApart(args...); code != exitOK || strings.Count(text, "SUCCESS") != 30 {
		t.Errorf("%d %s\n%s", code, text, errOut)
	}
	if got := s.perDay("day"); len(got) != 30 || records() != 30 {
		t.Errorf("%d records: %v", records(), got)
	}
}

// TestBackfillInTheDocs runs the commands of the guide.
func TestBackfillInTheDocs(t *testing.T) {
	t.Parallel()
	const page = "docs/guides/backfill.md"
	s := newStack(t, strings.TrimPrefix(fenced(t, page, "yaml")[0], "reports:\n"), "databases: {db: {dsn: \"{dsn}\"}, fund: {dsn: \"{dsn}\"}}")
	s.Records.Exec("CREATE TABLE vs_withdraw (user_id INT, amount DECIMAL(10,2), created_at DATETIME)")
	s.Records.Exec("INSERT INTO vs_withdraw VALUES (1, 1.50, '2024-02-28 23:59:59'), (2, 2.50, '2024-02-29 00:00:00')")
	s.Serve(s.File)
	commands := fenced(t, page, "sh")
	for i, want := range []string{"none", "SUCCESS"} {
		args := strings.Fields(strings.Replace(commands[i], "2024-01-01..2024-03-31", "2024-02-28..2024-03-01", 1))
		if out, code := s.fanfold(args[1:]...); code != exitOK || strings.Count(out, want+" ") < 3 {
			t.Errorf("%s: %d %s", commands[i], code, out)
		}
	}
	files := map[string]string{"2024-02-28": "user_id,amount\r\n1,1.50\r\n", "2024-02-29": "user_id,amount\r\n2,2.50\r\n", "2024-03-01": "user_id,amount\r\n"}
	for day, v := range s.fill(exitOK, "daily-withdrawals", "--each-day", "2024-02-28..2024-03-01") {
		if got := s.Files.Content(inspect.Job{ID: v.ID, Status: v.Status, File: v.File, Attempt: v.Attempt}); got != files[day] {
			t.Errorf("%s: %q", day, got)
		}
	}
}
