package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/inspect/doctor"
	"github.com/fanfold/fanfold/report"
)

// TestExitCodesInTheDocs: fanfold --help lists every exit code of main.go, and so does the page of what is
// stable.
func TestExitCodesInTheDocs(t *testing.T) {
	t.Parallel()
	codes := regexp.MustCompile(`(?m)^\texit[A-Z]\w+\s+= (\d+)$`).FindAllStringSubmatch(read(t, "main.go"), -1)
	_, listed, _ := strings.Cut(newRoot(kinds.Standard()).Long, "Exit codes: ")
	for i, c := range codes {
		if c[1] != strconv.Itoa(i) || !regexp.MustCompile(`(^|,\s)`+c[1]+` [a-z]`).MatchString(listed) {
			t.Errorf("exit code %s is not the next one, or not in fanfold --help:\n%s", c[1], listed)
		}
	}
	if want := fmt.Sprintf("exit codes 0 to %d,", len(codes)-1); !strings.Contains(read(t, "../../../docs/reference/stability.md"), want) {
		t.Errorf("docs/reference/stability.md does not say %q", want)
	}
}

// TestExitCodes checks the exit codes that fanfold --help lists.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, nil, e2e.Slow, "limits: {shutdown_timeout: 1s}")
	s.Serve(s.File)
	broken := filepath.Join(s.Dir, "broken.yaml")
	if err := os.WriteFile(broken, []byte("redis: 7\nreports: {x: {}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	away := filepath.Join(s.Dir, "away.yaml")
	if err := os.WriteFile(away, []byte(strings.ReplaceAll(string(text), s.Server.Addr, "127.0.0.1:1")), 0o600); err != nil {
		t.Fatal(err)
	}
	id, failing := s.Records.Insert("slow", ""), s.Records.Insert("slow", `{"seconds": "never"}`)
	pending, stranger := s.Records.Insert("slow", ""), s.Records.Insert("no-such-report", "")
	mapped := filepath.Join(s.Dir, "mapped.yaml")
	if err := os.WriteFile(mapped, []byte(strings.ReplaceAll(string(text), "records: {", "records: {columns: {status: state}, ")), 0o600); err != nil {
		t.Fatal(err)
	}
	login := filepath.Join(s.Dir, "login.yaml")
	if err := os.WriteFile(login, []byte(strings.ReplaceAll(string(text), "root@", "nobody:wrong@")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code int
		args []string
		text string // in the output
	}{
		{exitOK, []string{"--help"}, "Exit codes: 0 ok"},
		{exitOK, []string{"version"}, "fanfold"},
		{exitOK, []string{"completion", "bash"}, "fanfold"},
		{exitOK, []string{"validate"}, "slow"},
		{exitOK, []string{"validate", "--schema", "-c", "/nowhere.yaml"}, `"running_jobs"`},
		{exitOK, []string{"submit", id, "--wait"}, "SUCCESS"},
		{exitOK, []string{"status", id}, "SUCCESS"},
		{exitOK, []string{"list", "--status", "success", "--limit", "5"}, id},
		{exitFailure, []string{"retry", s.running()}, "run"},
		{exitFailure, []string{"submit", id}, "fanfold retry " + id},
		{exitFailure, []string{"submit", stranger}, `report "no-such-report" is not in the configuration`},
		{exitOK, []string{"migrate", "-c", mapped}, "all tables are up to date"},
		{exitUsage, []string{"status", "a/b"}, "is not an id"},
		{exitUsage, []string{"submit"}, "ID…|REPORT is missing"},
		{exitUsage, []string{"submit", "no id", "--wait"}, "no id"},
		{exitUsage, []string{"frobnicate"}, "unknown command"},
		{exitUsage, []string{"list", "--limit", "many"}, "many"},
		{exitUsage, []string{"list", "--status", "LOST"}, "LOST"},
		{exitUsage, []string{"serve", "--roles", "cook"}, "cook"},
		{exitUsage, []string{"status", id, "-o", "xml"}, "xml"},
		{exitUsage, []string{"validate", "-c", "/nowhere.yaml"}, "no configuration file"},
		{exitUsage, []string{"validate", "-c", broken}, "broken.yaml:1:8"},
		{exitUsage, []string{"config", "show", "-c", broken}, "broken.yaml:1:8"},
		{exitUsage, []string{"config", "show", "slwo"}, `Did you mean "slow"?`},
		{exitNotFound, []string{"status", "99999"}, "99999"},
		{exitNotFound, []string{"submit", "99999"}, "99999"},
		{exitNotFound, []string{"retry", "99999"}, "99999"},
		{exitJobFailed, []string{"submit", failing, "--wait"}, "never"},
		{exitUnreachable, []string{"serve", "-c", away}, "Redis cannot be reached"},
		{exitUnreachable, []string{"submit", pending, "-c", away}, "Redis cannot be reached: dial tcp 127.0.0.1:1"},
		{exitUnreachable, []string{"list", "-c", login}, "Access denied"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			out, code := s.in(t).fanfold(c.args...)
			if code != c.code || !strings.Contains(out, c.text) {
				t.Errorf("exit code %d, want %d with %q:\n%s", code, c.code, c.text, out)
			}
		})
	}
}

// running returns the id of a record whose job runs.
func (s *stack) running() string {
	s.Helper()
	id := s.Records.Insert("slow", `{"seconds": 300}`)
	s.Jobs.Push(id)
	s.Eventually("PROCESSING", func() bool {
		v, err := s.Inspect.Jobs.Get(s.Context(), id)
		return err == nil && v.Status == report.Processing
	})
	return id
}

// TestJSON checks the JSON output, which other programs read.
func TestJSON(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	s.Serve(s.File)
	id := s.Records.Insert("slow", "")
	out, code := s.fanfold("submit", id, "--wait", "-o", "json")
	var views []inspect.Job
	if err := json.NewDecoder(bytes.NewReader([]byte(out))).Decode(&views); err != nil || code != exitOK {
		t.Fatalf("%d %v:\n%s", code, err, out)
	}
	if len(views) != 1 || views[0].ID != id || views[0].Status != report.Success || views[0].Listeners[0].State != "done" || views[0].Listeners[0].Rows != 1 {
		t.Errorf("%+v", views)
	}
	for _, args := range [][]string{{"list"}, {"validate"}, {"config", "show"}, {"version"}, {"doctor"}, {"migrate"}, {"status", id}} {
		out, _ := s.fanfold(append(args, "-o", "json")...)
		if !json.Valid([]byte(out)) {
			t.Errorf("%v: not JSON:\n%s", args, out)
		}
	}
}

// TestDoctor: doctor finds every problem, one at a time.
func TestDoctor(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, nil, e2e.Slow)
	ctx := t.Context()
	s.Files.Sink()
	out, code := s.fanfold("doctor")
	if code != exitOK || strings.Contains(out, doctor.Fail) {
		t.Fatalf("a healthy installation: %d\n%s", code, out)
	}
	for _, check := range []string{
		"redis version", "redis clock", "redis eviction", "redis persistence", "redis notifications", "redis scripts",
		"stream fanfold:jobs", "database db", "clock of database db", "query slow / one", "records", "sink", "scratch files",
	} {
		if f := s.finding(check); f.Result != doctor.Pass {
			t.Errorf("%+v", f)
		}
	}
	set := func(name, value string) {
		t.Helper()
		if err := s.Redis.ConfigSet(ctx, name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	s.Records.Exec("RENAME TABLE fanfold_snapshot TO elsewhere")
	if f := s.finding("records that outlive redis"); f.Result != doctor.Warn || !strings.Contains(f.Hint, "fanfold migrate") {
		t.Errorf("%+v", f)
	}
	s.Records.Exec("RENAME TABLE elsewhere TO fanfold_snapshot")
	if f := s.finding("records that outlive redis"); f.Result != doctor.Pass {
		t.Errorf("%+v", f)
	}
	set("maxmemory-policy", "allkeys-lru")
	if f := s.finding("redis eviction"); f.Result != doctor.Fail || f.Hint == "" {
		t.Errorf("%+v", f)
	}
	if _, code := s.fanfold("doctor"); code != exitFailure {
		t.Errorf("exit code %d with a FAIL", code)
	}
	set("maxmemory-policy", "noeviction")
	set("notify-keyspace-events", "")
	if f := s.finding("redis notifications"); f.Result != doctor.Warn {
		t.Errorf("%+v", f)
	}
	set("notify-keyspace-events", "AKE")
	if f := s.finding("redis notifications"); f.Result != doctor.Pass {
		t.Errorf("%+v", f)
	}
	set("appendonly", "no")
	if f := s.finding("redis persistence"); f.Result != doctor.Warn {
		t.Errorf("%+v", f)
	}
	s.Jobs.Push("1")
	s.Redis.XGroupCreateMkStream(ctx, s.Partitions.First().Keys.Jobs, "fanfold", "0")
	if f := s.finding("stream fanfold:jobs"); f.Result != doctor.Warn || !strings.Contains(f.Detail, "1 entry,") {
		t.Errorf("%+v", f)
	}
	s.Records.Insert("slow", "") // which is pushed
	s.Records.Insert("slow", "")
	s.Records.Exec("UPDATE file_download_record SET updated_at = NOW() - INTERVAL 1 DAY")
	if f := s.finding("records to be started"); f.Result != doctor.Warn || !strings.Contains(f.Detail, "1 PENDING") {
		t.Errorf("%+v", f)
	}
	s.Records.Exec("ALTER TABLE file_download_record DROP COLUMN attempt")
	if f := s.finding("records"); f.Result != doctor.Fail || !strings.Contains(f.Detail, "attempt") {
		t.Errorf("%+v", f)
	}
	if err := os.WriteFile(s.Dir+"/files-is-a-file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	bad := strings.ReplaceAll(e2e.Slow, "SLEEP(:seconds) AS v", "no_column + :seconds AS v")
	s.File = s.Write("bad.yaml", bad)
	text, err := os.ReadFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.File, bytes.ReplaceAll(text, []byte("/files\n"), []byte("/files-is-a-file\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if f := s.finding("query slow / one"); f.Result != doctor.Fail || !strings.Contains(f.Detail, "no_column") {
		t.Errorf("%+v", f)
	}
	if f := s.finding("sink"); f.Result != doctor.Fail {
		t.Errorf("%+v", f)
	}
}

// TestRetryOfSeveral: retry with several ids runs those that it can and prints the outcome of every
// id.
func TestRetryOfSeveral(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	done, runs, last := s.Records.Insert("slow", ""), s.Records.Insert("slow", ""), s.Records.Insert("slow", "")
	stranger := s.Records.Insert("no-such-report", "")
	s.Records.Exec("UPDATE file_download_record SET status = 'SUCCESS' WHERE id IN (?, ?, ?)", done, last, stranger)
	s.Records.Exec("UPDATE file_download_record SET status = 'PROCESSING', attempt = 1 WHERE id = ?", runs)
	out, code := s.fanfold("retry", done, runs, "99999", stranger, last)
	if code != exitNotFound || !strings.Contains(out, "still running: record "+runs) || !strings.Contains(out, "no such record: 99999") || !strings.Contains(out, `"no-such-report" is not in the configuration`) ||
		strings.Count(out, "pushed") != 2 || strings.Count(out, "refused") != 3 || strings.Contains(out, "engine: ") || strings.Contains(out, "record: still") {
		t.Errorf("%d %s", code, out)
	}
	if n := s.Redis.XLen(t.Context(), s.Partitions.First().Keys.Jobs).Val(); n != 2 {
		t.Errorf("%d are pushed", n)
	}
	if out, code := s.fanfold("retry", runs); code != exitFailure || !strings.Contains(out, "refused") {
		t.Errorf("%d %s", code, out)
	}
	if out, code := s.fanfold("retry", "no id", last); code != exitUsage || s.Redis.XLen(t.Context(), s.Partitions.First().Keys.Jobs).Val() != 2 {
		t.Errorf("%d %s", code, out)
	}
	s.Serve(s.File)
	s.Jobs.Wait(done, last)
	if out, code := s.fanfold("retry", last, runs, "--wait"); code != exitFailure || !strings.Contains(out, last+" ") || !strings.Contains(out, "SUCCESS") || !strings.Contains(out, "still running") {
		t.Errorf("%d %s", code, out)
	}
	s.Records.Exec("UPDATE file_download_record SET status = 'PARTIAL', file = 'file:///f/1.csv', error = 'without listener b' WHERE id = ?", done)
	s.must("list", "file:///f/1.csv (without listener b)")
}

// TestValidateWarns: validate warns of a timeout that ends jobs before their last try, as text and
// as JSON.
func TestValidateWarns(t *testing.T) {
	t.Parallel()
	const short = `
  short: {timeout: 10m, listeners: {one: {database: db, query: "SELECT 1 AS k"}}}
  long: {listeners: {one: {database: db, query: "SELECT 1 AS k"}}}
`
	s := newStack(t, short)
	const want = "reports.short.timeout: 10m is shorter than 5m × 7 + 6m = 41m"
	s.must("validate", "warning: "+s.File+":")
	s.must("validate", want)
	out, code := s.fanfold("validate", "-o", "json")
	var views []reportView
	if err := json.Unmarshal([]byte(out), &views); err != nil || code != exitOK || len(views) != 2 ||
		len(views[0].Warnings) != 0 || len(views[1].Warnings) != 1 || !strings.Contains(views[1].Warnings[0], want) {
		t.Errorf("%d %v %s", code, err, out)
	}
	if strings.Contains(out, "null") {
		t.Errorf("a list is null: %s", out)
	}
	s.File = s.Write("strict.yaml", strings.Replace(short, "10m", "10m, strict_timeout: true", 1))
	if out, code := s.fanfold("validate"); code != exitUsage || !strings.Contains(out, want) {
		t.Errorf("%d %s", code, out)
	}
}
