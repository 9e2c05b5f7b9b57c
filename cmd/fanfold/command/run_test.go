package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/sink"
)

// typedReport has a parameter of every type.
const typedReport = `
  typed:
    retry: 0
    parameters:
      s: string
      i: {type: integer, default: "7"}
      f: {type: decimal, default: "1.5"}
      b: {type: boolean, default: false}
      d: {type: date, default: "2024-02-29"}
      ids: {type: integer, list: true, default: [1]}
    listeners:
      one: {database: db, query: "SELECT id, :s AS s, :i AS i, :f AS f, IF(:b, 'yes', 'no') AS b, :d AS d FROM (SELECT 1 AS id UNION SELECT 2) n WHERE id IN (:ids)"}
  broken: {retry: 0, listeners: {three: {database: db, query: "SELECT k FROM no_such_table"}}}
  large:
    listeners: {two: {database: db, query: "SELECT seq AS k, REPEAT('x', 1000) AS v FROM seq_1_to_200"}}
`

// runApart runs a command with separate standard output and standard error.
func (s commands) runApart(args ...string) (out, errOut string, code int) {
	s.Helper()
	var stdout, stderr bytes.Buffer
	code = run(s.Context(), append([]string{"-c", s.File}, args...), &stdout, &stderr)
	return stdout.String(), stderr.String(), code
}

// names returns the names of the files in a folder.
func names(t *testing.T, folder string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRun inserts records with typed parameters, waits for their jobs and copies the files.
func TestRun(t *testing.T) {
	t.Parallel()
	s := newStack(t, typedReport)
	folder := t.TempDir()
	file := filepath.Join(folder, "out.csv")

	out, _, code := s.runApart("run", "typed", "--param", "s=a=b, c", "-o", "json")
	id := strings.Trim(out, "[] \"\n")
	if code != exitOK || s.Redis.XLen(t.Context(), s.Partitions.First().Keys.Jobs).Val() != 1 {
		t.Fatalf("%d %s", code, out)
	}
	s.Serve(s.File)
	if got, want := s.Files.Content(s.Jobs.Wait(id)[0]), "id,s,i,f,b,d\r\n1,\"a=b, c\",7,1.5,no,2024-02-29\r\n"; got != want {
		t.Errorf("%q", got)
	}

	s.knows(id)

	all := []string{"run", "typed", "--param", "s=é", "--param", "i=-12", "--param", "f=0.10", "--param", "b=true", "--param", "d=2024-01-02"}
	const want = "id,s,i,f,b,d\r\n1,é,-12,0.10,yes,2024-01-02\r\n2,é,-12,0.10,yes,2024-01-02\r\n"
	if err := os.WriteFile(file, []byte("before"), 0o640); err != nil {
		t.Fatal(err)
	}
	for _, ids := range [][]string{{"--param", "ids=1", "--param", "ids=2"}, {"--param", "ids=[1, 2]"}} {
		out, errOut, code := s.runApart(append(append(all[:len(all):len(all)], ids...), "--file", file)...)
		if got := read(t, file); code != exitOK || got != want || !strings.Contains(out, "SUCCESS") || !strings.Contains(errOut, "one done, 2 rows") {
			t.Errorf("%v: %d %q\n%s\n%s", ids, code, got, out, errOut)
		}
		var parameters string
		err := s.DB.QueryRowContext(t.Context(), "SELECT parameters FROM file_download_record ORDER BY id DESC LIMIT 1").Scan(&parameters)
		if err != nil || parameters != `{"b":true,"d":"2024-01-02","f":"0.10","i":-12,"ids":[1,2],"s":"é"}` {
			t.Errorf("%s %v", parameters, err)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o640 {
		t.Errorf("%v %v: the file had another mode", info, err)
	}
	// Standard output has the file and nothing else.
	for _, format := range []string{"table", "json"} {
		out, errOut, code := s.runApart(append(all[:len(all):len(all)], "--param", "ids=[1,2]", "--file", "-", "-o", format)...)
		if code != exitOK || out != want || !strings.Contains(errOut, "SUCCESS") {
			t.Errorf("%d %q\n%s", code, out, errOut)
		}
	}
	// A job that fails leaves the file as it was.
	for _, to := range []string{file, "-"} {
		out, errOut, code := s.runApart("run", "broken", "--file", to)
		if all := out + errOut; code != exitJobFailed || !strings.Contains(all, "FAILED") || read(t, file) != want || to == "-" && out != "" {
			t.Errorf("%d %s\n%s", code, out, errOut)
		}
	}
	if list := names(t, folder); len(list) != 1 {
		t.Errorf("%v are left", list)
	}
	s.Jobs.Idle()
}

// knows checks that the commands show the rows and times of an ended job, and status the size of
// its file.
func (s commands) knows(id string) {
	s.Helper()
	var one inspect.Job
	var list []inspect.Job
	for args, into := range map[string]any{"status " + id: &one, "list": &list} {
		out, errOut, code := s.runApart(append(strings.Fields(args), "-o", "json")...)
		if err := json.Unmarshal([]byte(out), into); err != nil || code != exitOK {
			s.Fatalf("%d %s %s", code, out, errOut)
		}
	}
	for _, v := range []inspect.Job{one, list[0]} {
		if v.Rows == nil || *v.Rows != 1 || v.Created == nil || v.Started == nil || v.Ended == nil || v.Duration == nil ||
			v.Started.Before(v.Created.Add(-time.Second)) || v.Ended.Sub(*v.Started).Milliseconds() != *v.Duration {
			s.Errorf("%+v", v)
		}
	}
	if one.Size == nil || *one.Size != int64(len(s.Files.Content(one))) {
		s.Errorf("%v bytes", one.Size)
	}
	var top inspect.Top
	if out, errOut, code := s.runApart("top", "-o", "json"); json.Unmarshal([]byte(out), &top) != nil || code != exitOK || len(top.Listeners) != 3 || top.Listeners[0].Workers != 1 {
		s.Errorf("%d %s %s", code, out, errOut)
	}
	for args, want := range map[string]string{"top": "jobs: 0 running, 0 waiting", "status " + id: " 46 B ", "list": " ROWS  CREATED              STARTED              ENDED                DURATION "} {
		if out, _, code := s.runApart(strings.Fields(args)...); code != exitOK || !strings.Contains(out, want) {
			s.Errorf("%d %s, want %s", code, out, want)
		}
	}
}

// TestRunRefuses: run refuses parameters and options that cannot work, and inserts no record.
func TestRunRefuses(t *testing.T) {
	t.Parallel()
	s := newStack(t, typedReport, "limits: {parameter_bytes: 1KB}")
	folder := t.TempDir()
	for _, c := range []struct {
		args []string
		text string
	}{
		{nil, "REPORT is missing"},
		{[]string{"type"}, `unknown report "type". Did you mean "typed"? Available: broken, large, typed`},
		{[]string{"typed"}, "parameter s (string) is missing: give --param s=VALUE"},
		{[]string{"typed", "--param", "s"}, "--param s: no value: write --param NAME=VALUE\nparameter s"},
		{[]string{"typed", "--param", "s=a", "--param", "s=b"}, "--param s is given 2 times, but is not a list: give it once"},
		{[]string{"typed", "--param", "s=a", "--param", "i=1.5"}, "--param i=1.5: it is not an integer: give a whole number"},
		{[]string{"typed", "--param", "s=a", "--param", "b=yes"}, "--param b=yes: it is not a boolean: give true or false"},
		{[]string{"typed", "--param", "s=a", "--param", "d=todya"}, `--param d=todya: it is not a date: give a string such as "2006-01-02" or "today-30d"`},
		{[]string{"typed", "--param", "s=a", "--param", "ids=1", "--param", "ids=x"}, "--param ids=1 x: it is a list whose element 2 is not an integer"},
		{[]string{"typed", "--param", "s=a", "--param", "idz=1"}, "--param idz: report typed has no such parameter: did you mean ids?"},
		{[]string{"large", "--param", "s=a"}, "report large has no such parameter: it has no parameters"},
		{[]string{"typed", "--param", "s=" + strings.Repeat("x", 2000)}, "limits.parameter_bytes is 1024"},
		{[]string{"large", "--file", folder}, "it is a folder"},
		{[]string{"large", "--file", ""}, "the name is empty"},
		{[]string{"large", "--file", os.DevNull}, "it is not a regular file"},
		{[]string{"large", "--file", folder + "/no/x.csv"}, "no such file or directory"},
	} {
		if out, code := s.fanfold(append([]string{"run"}, c.args...)...); code != exitUsage || !strings.Contains(out, c.text) {
			t.Errorf("%v: exit code %d, and not %q:\n%s", c.args, code, c.text, out)
		}
	}
	text := strings.Replace(read(t, s.File), "records: {", "records: {filter: report = 'other', ", 1)
	if err := os.WriteFile(s.File, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := s.fanfold("run", "large"); code != exitFailure || !strings.Contains(out, "fanfold submit ID") {
		t.Errorf("%d %s", code, out)
	}
	if n := s.Records.Number("SELECT COUNT(*) FROM file_download_record"); n != 0 {
		t.Errorf("%d records", n)
	}
	if list := names(t, folder); len(list) != 0 {
		t.Errorf("%v are left", list)
	}
}

// TestRunBringsAFileWhole: run --file creates a complete file or none.
func TestRunBringsAFileWhole(t *testing.T) {
	t.Parallel()
	s := newStack(t, typedReport)
	s.Serve(s.File)
	v := s.Jobs.Run("large", "")
	folder := t.TempDir()
	file := filepath.Join(folder, "out.csv")
	bring := func(ctx context.Context, v inspect.Job, through func(io.Writer) io.Writer) error {
		to, err := newTarget(nil, file)
		if err != nil {
			t.Fatal(err)
		}
		defer to.discard()
		to.Writer = through(to.Writer)
		return (&backend{s.Process}).copyFile(ctx, v, to)
	}
	ctx, cancel := context.WithCancel(t.Context())
	first := func(w io.Writer) io.Writer { return &cancels{w, cancel} }
	if err := bring(ctx, v, first); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if list := names(t, folder); len(list) != 0 {
		t.Errorf("after a download that was cut there are %v", list)
	}
	whole := func(w io.Writer) io.Writer { return w }
	if err := bring(t.Context(), v, whole); err != nil || read(t, file) != s.Files.Content(v) {
		t.Errorf("%v", err)
	}
	if err := os.Remove(strings.TrimPrefix(v.File, "file://")); err != nil {
		t.Fatal(err)
	}
	if err := bring(t.Context(), v, whole); !errors.Is(err, sink.ErrNoObject) {
		t.Errorf("%v", err)
	}
	v.File = "gs://other/1.csv"
	if err := bring(t.Context(), v, whole); err == nil || !strings.Contains(err.Error(), "is not in file://") {
		t.Errorf("%v", err)
	}
	if list := names(t, folder); len(list) != 1 {
		t.Errorf("%v are left", list)
	}
}

// cancels is a writer that cancels the command after the first bytes.
type cancels struct {
	io.Writer
	cancel func()
}

func (c *cancels) Write(p []byte) (int, error) {
	defer c.cancel()
	return c.Writer.Write(p)
}

// TestRunFromABucket copies a file from Google Cloud Storage.
func TestRunFromABucket(t *testing.T) {
	t.Parallel()
	storage := testmain.NewStorage(t, "reports", "")
	s := newStack(t, typedReport)
	text := strings.ReplaceAll(read(t, s.File), "sink: file://"+s.Dir+"/files", "sink: gs://reports/exports")
	if err := os.WriteFile(s.File, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	environment := []string{"STORAGE_EMULATOR_HOST=" + storage.Addr}
	s.processWith(environment, "-c", s.File, "serve")
	c := command("-c", s.File, "run", "large", "--file", "-")
	c.Env = append(c.Env, environment...)
	var errOut bytes.Buffer
	c.Stderr = &errOut
	out, err := c.Output()
	if err != nil || strings.Count(string(out), "\r\n") != 201 || !strings.Contains(errOut.String(), string(report.Success)) {
		t.Errorf("%v: %d bytes\n%s", err, len(out), errOut.String())
	}
}

// TestWaitingEndsWithTheReason: run warns at once if no process has the definition of the report,
// and waiting ends if the id is quarantined.
func TestWaitingEndsWithTheReason(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, nil, typedReport)
	const warning = "warning: no running process has this definition of broken: restart fanfold serve\n"
	if _, errOut, code := s.runApart("run", "broken"); code != exitOK || errOut != "" { // no process runs
		t.Errorf("%d %s", code, errOut)
	}
	home := s.Partitions.First()
	for _, has := range []string{"broken/old", scripts.DefinitionMember("typed", s.Config.Reports["typed"].Hash())} {
		s.Redis.ZAdd(t.Context(), home.Keys.Definitions, redis.Z{Score: float64(time.Now().Add(time.Hour).UnixMilli()), Member: has})
	}
	if _, errOut, code := s.runApart("run", "broken"); code != exitOK || errOut != warning {
		t.Errorf("%d %s", code, errOut)
	}
	if _, errOut, code := s.runApart("run", "typed", "--param", "s=x"); code != exitOK || errOut != "" {
		t.Errorf("%d %s", code, errOut)
	}
	for _, command := range [][]string{{"submit", "--wait"}, {"watch"}, {"watch", "-o", "json"}} {
		id := s.Records.Insert("broken", "")
		s.Redis.Del(t.Context(), home.Keys.Quarantined)
		s.Redis.XAdd(t.Context(), &redis.XAddArgs{Stream: home.Keys.Quarantined, ID: "1-1", Values: []string{"reason", "long ago", "fields", "id=" + id}})
		var out, errOut string
		var code int
		done := make(chan struct{})
		go func() {
			defer close(done)
			out, errOut, code = s.runApart(append(command, id)...)
		}()
		s.Eventually("the wait has ended", func() bool {
			select {
			case <-done:
				return true
			default:
				return home.Streams.Quarantine(t.Context(), home.Keys.Jobs, "1-1", map[string]string{"id": id}, "it is odd") != nil
			}
		})
		want := "record " + id + ": its id was quarantined: it is odd; fanfold why " + id + " says what to do"
		before := "record " + id + ": It was quarantined "
		if code != exitJobFailed || !strings.Contains(errOut, warning) || !strings.Contains(errOut, want) || command[0] == "watch" && !strings.Contains(errOut, before) {
			t.Errorf("%v: %d\n%s\n%s", command, code, out, errOut)
		}
	}
}
