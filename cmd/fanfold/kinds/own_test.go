package kinds

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

func TestMain(m *testing.M) { testmain.Main(m) }

const example = "../../../examples/kinds"

// own is the binary of examples/kinds, with servers of its own.
type own struct {
	*testing.T
	binary string
	notes  string // the file of its timers
	env    []string
}

func build(t *testing.T) own {
	t.Helper()
	folder, err := filepath.Abs(example)
	if err != nil {
		t.Fatal(err)
	}
	schema, _ := testmain.Schema(t)
	dir := t.TempDir()
	o := own{t, filepath.Join(dir, "fanfold-own"), filepath.Join(dir, "notes"), append(os.Environ(), "PWD="+folder, "NOTES="+filepath.Join(dir, "notes"),
		"REDIS_URL="+testmain.SharedRedis(t).URL(), "MAIN_DSN="+testmain.SharedDatabase(t).DSN(schema))}
	// go run caches what it links, unlike go build.
	o.run("go", "run", "-exec", "cp", "-tags", "disable_grpc_modules", ".", o.binary)
	return o
}

// command returns a command in the folder of the example.
func (o own) command(name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(o.Context(), name, args...)
	c.Dir, c.Env = example, o.env
	return c
}

// run returns the output of a command that must succeed.
func (o own) run(name string, args ...string) string {
	o.Helper()
	out, err := o.command(name, args...).CombinedOutput()
	if err != nil {
		o.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// serve runs the roles, and returns the address of the API.
func (o own) serve() string {
	o.Helper()
	c := exec.Command(o.binary, "serve", "--http", "127.0.0.1:0")
	c.Dir, c.Env = example, o.env
	log, err := c.StderrPipe()
	if err != nil {
		o.Fatal(err)
	}
	if err := c.Start(); err != nil {
		o.Fatal(err)
	}
	o.Cleanup(http.DefaultClient.CloseIdleConnections)
	address, done := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(log); lines.Scan(); {
			if m := regexp.MustCompile(`listens=(\S+)`).FindStringSubmatch(lines.Text()); m != nil {
				address <- "http://" + m[1] + "/api/v1/"
			}
		}
	}()
	o.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		<-done
		if err := c.Wait(); err != nil {
			o.Error(err)
		}
	})
	select {
	case found := <-address:
		return found
	case <-done:
		o.Fatal("it ended without an address")
	}
	return ""
}

// waitForNote waits until the notes end with a text.
func (o own) waitForNote(end string) {
	o.Helper()
	ctx, cancel := context.WithTimeout(o.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		text, err := os.ReadFile(o.notes)
		if err == nil && strings.HasSuffix(string(text), end) {
			return
		}
		select {
		case <-ctx.Done():
			o.Fatalf("the notes are %q: %v", text, err)
		case <-tick.C:
		}
	}
}

// file makes a job of a report and returns its file.
func (o own) file(api, report string) ([]byte, http.Header) {
	o.Helper()
	var job struct{ ID, Status string }
	answer, err := http.Post(api+"reports/"+report+"/jobs", "application/json", strings.NewReader("{}"))
	if err != nil {
		o.Fatal(err)
	}
	if err := json.NewDecoder(answer.Body).Decode(&job); err != nil || answer.StatusCode != http.StatusCreated {
		o.Fatal(answer.Status, err)
	}
	o.run(o.binary, "watch", job.ID)
	answer, err = http.Get(api + "jobs/" + job.ID + "/file")
	if err != nil {
		o.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		o.Fatal(answer.Status, string(body), err)
	}
	return body, answer.Header
}

// TestOwnKinds builds examples/kinds, a module outside of Fanfold's: its kinds pass the suites, and its
// binary makes reports with them.
func TestOwnKinds(t *testing.T) {
	t.Parallel()
	o := build(t)
	o.fields()
	o.shown()
	o.run("go", "test", "-tags", "disable_grpc_modules", "./...")
	for _, args := range []string{"validate", "migrate", "doctor"} {
		o.run(o.binary, args)
	}
	api := o.serve()
	text, header := o.file(api, "users")
	if want := "user_id\tname\tbalance\n1\tAda\t2.50\n2\tGrace\\tHopper\t\\N\n3\t\\N\t7.00\n"; string(text) != want {
		t.Errorf("the file is %q, want %q", text, want)
	}
	if kind := header.Get("Content-Type"); !strings.HasPrefix(kind, "text/tab-separated-values") {
		t.Errorf("its type is %q", kind)
	}
	packed, _ := o.file(api, "archive")
	archive, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil || len(archive.File) != 2 {
		t.Errorf("the archive has %d files: %v", len(archive.File), err)
	}
	o.run(o.binary, "timer", "set", "greet-ada", "--in", "1s")
	o.waitForNote(" hello ada\n")
	if why := o.run(o.binary, "why", "1"); !strings.Contains(why, "SUCCESS") {
		t.Errorf("why says %s", why)
	}
	if names := o.run(o.binary, "__complete", "list", "--report", ""); !strings.Contains(names, "archive") {
		t.Errorf("the reports are completed to %s", names)
	}
}

// TestGuideShowsTheExample: every block of code of the guide is a part of the example.
func TestGuideShowsTheExample(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, pattern := range []string{"*.go", "*/*.go", "*.yaml"} {
		files, err := filepath.Glob(filepath.Join(example, pattern))
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
	}
	guide, err := os.ReadFile("../../../docs/guides/own-kinds.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```(?:go|yaml)\n(.*?)```").FindAllStringSubmatch(string(guide), -1)
	if len(blocks) < 6 {
		t.Errorf("the guide has only %d blocks", len(blocks))
	}
	for _, block := range blocks {
		if !strings.Contains(all.String(), block[1]) {
			t.Errorf("the example does not contain:\n%s", block[1])
		}
	}
}

// fields proves that the schema and the messages have the fields of kinds outside of Fanfold.
func (o own) fields() {
	o.Helper()
	var schema struct {
		Defs map[string]struct {
			Required   []string
			Properties map[string]struct{ Description string }
		} `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(o.run(o.binary, "validate", "--schema")), &schema); err != nil {
		o.Fatal(err)
	}
	for _, want := range [][3]string{
		{"report.File_tsv", "header", "false leaves out the labels of the columns"},
		{"config.listenerFields_folder", "file", "Name of a CSV file with a header"},
		{"config.listenerFields_folder", "timeout", "Maximum time of one try of its task"},
		{"example.com.kinds.note.Fields", "text", "Text of the line"},
		{"report.Timer", "note", "Appends a line to a file"},
		{"report.File_csv", "bom", "`true` begins the file with a byte order mark, by which Excel recognizes UTF-8. Many programs read it as a part of the first header, so that it is not the default without a locale"},
	} {
		if got := schema.Defs[want[0]].Properties[want[1]].Description; got != want[2] {
			o.Errorf("%s.%s is described by %q, want %q", want[0], want[1], got, want[2])
		}
	}
	file, err := os.ReadFile(filepath.Join(example, "fanfold.yaml"))
	if err != nil {
		o.Fatal(err)
	}
	for _, wrong := range []struct{ was, is, want string }{
		{"file: users.csv", "file: ../users.csv", "not a file in the folder"},
		{"format: tsv", "format: tvs", `Did you mean "tsv"?`},
		{"format: tsv", "format: tsv, headr: false", `Did you mean "header"?`},
		{"format: tsv", "format: tsv, time_zone: Europe/Berlin", "the format tsv writes datetimes as they are"},
		{"format: zip", "format: zip, compress: gzip", "a zip archive is compressed already"},
		{"format: zip", "format: zip, max_rows: 2000000", "at most 1000000 rows"},
		{"memory://reports", "memory://", "not memory:// and a name"},
		{"hello {user}", "hello {usr}", "unknown name {usr}"},
		{"note: {", "nte: {", `Did you mean "note"?`},
		{"files: {", "files: {password_file: x, ", "no DSN of this kind has a password"},
	} {
		text := strings.Replace(string(file), wrong.was, wrong.is, 1)
		name := filepath.Join(o.TempDir(), "wrong.yaml")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			o.Fatal(err)
		}
		out, err := o.command(o.binary, "validate", "-c", name).CombinedOutput()
		if err == nil || !strings.Contains(string(out), wrong.want) {
			o.Errorf("%s: %v, %s, want %s", wrong.is, err, out, wrong.want)
		}
	}
}

// shown proves that what config show prints has the own fields, and is a configuration with the same definitions.
func (o own) shown() {
	o.Helper()
	text := o.run(o.binary, "config", "show")
	for _, want := range []string{"url: memory://reports", "header: true", "file: users.csv", `text: "hello {user}"`} {
		if !strings.Contains(text, want) {
			o.Errorf("config show does not print %q:\n%s", want, text)
		}
	}
	for _, secret := range []string{"url: ${REDIS_URL}", "dsn: ${MAIN_DSN}", `dsn: "folder://${PWD}/data"`} {
		field, _, _ := strings.Cut(secret, ":")
		text = strings.Replace(text, field+": '***'", secret, 1)
	}
	name := filepath.Join(o.TempDir(), "shown.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		o.Fatal(err)
	}
	type definitions []struct{ Report, Definition string }
	var was, is definitions
	for file, into := range map[string]*definitions{"fanfold.yaml": &was, name: &is} {
		if err := json.Unmarshal([]byte(o.run(o.binary, "validate", "-o", "json", "-c", file)), into); err != nil {
			o.Fatal(err)
		}
	}
	if len(was) != 2 || !slices.Equal(was, is) {
		o.Errorf("the definitions are %v, and %v of what config show printed:\n%s", was, is, text)
	}
}
