package process

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/record"
)

func TestMain(m *testing.M) { testmain.Main(m) }

// open makes a process with keys and a schema of its own, on servers of the package. more is added to its
// configuration.
func open(t *testing.T, more string) *Process {
	t.Helper()
	schema, _ := testmain.Schema(t)
	p := openOn(t, schema, testmain.Name(t), more)
	for _, migrate := range []func() error{
		func() error { _, err := record.Migrate(t.Context(), p.Rows, p.Config.Records.Table); return err },
		func() error { _, err := record.MigrateTables(t.Context(), p.Rows, p.Config.Records.Table); return err },
	} {
		if err := migrate(); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// openOn makes a process on a schema, with keys that begin with a name.
func openOn(t *testing.T, schema, name, more string) *Process {
	t.Helper()
	return openWith(t, testmain.SharedRedis(t).URL(), schema, name, more)
}

// openWith is openOn on another Redis.
func openWith(t *testing.T, redis, schema, name, more string) *Process {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fanfold.yaml")
	text := fmt.Sprintf(`
redis: %s
redis_keys: {prefix: "%s:", hash: "%s-"}
databases: {db: {dsn: %q}}
records: {database: db}
sink: file://%s
reports:
  slow: {listeners: {one: {database: db, query: "SELECT 1 AS k"}}}
%s
`, redis, name, name, testmain.SharedDatabase(t).DSN(schema), t.TempDir(), more)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := Open(file, kinds.Standard())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// insert inserts a record and returns its id.
func insert(t *testing.T, p *Process) string {
	t.Helper()
	done, err := p.Rows.ExecContext(t.Context(), "INSERT INTO file_download_record (report, parameters) VALUES ('slow', '{}')")
	if err != nil {
		t.Fatal(err)
	}
	id, err := done.LastInsertId()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(id)
}

// browser sends requests to the site of a process.
type browser struct {
	t              *testing.T
	base           string
	log            *testmain.Log
	name, password string
	token          string // instead of them
}

// browse serves the site of a process. No role runs.
func browse(t *testing.T, p *Process) browser {
	t.Helper()
	b := browser{t: t, log: &testmain.Log{}}
	p.HTTP = "127.0.0.1:0"
	end, err := site{p, slog.New(slog.NewTextHandler(b.log, nil))}.serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	listens := regexp.MustCompile(`listens=(\S+)`).FindStringSubmatch(strings.Join(b.log.Lines("listens="), ""))
	if len(listens) != 2 {
		t.Fatal("no address in the log")
	}
	b.base = "http://" + listens[1]
	return b
}

// as returns the browser of a user.
func (b browser) as(name, password string) browser {
	b.name, b.password = name, password
	return b
}

// ask sends a request without following redirects. fields are names and values of a form.
func (b browser) ask(method, path string, fields ...string) (int, string, http.Header) {
	b.t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	if r.Header.Set("Content-Type", "application/x-www-form-urlencoded"); len(fields) == 0 {
		r.Header.Del("Content-Type")
	}
	return b.do(r)
}

func (b browser) do(r *http.Request) (int, string, http.Header) {
	b.t.Helper()
	if b.name != "" {
		r.SetBasicAuth(b.name, b.password)
	}
	if b.token != "" {
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	client := *http.DefaultClient
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err := client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer.StatusCode, string(text), answer.Header
}

// posts posts a form, and checks the code and the text of the answer.
func (b browser) posts(path string, code int, says string, fields ...string) {
	b.t.Helper()
	if got, text, _ := b.ask("POST", path, fields...); got != code || !strings.Contains(text, says) {
		b.t.Errorf("%s %q: %d, not %d and %q:\n%s", path, fields, got, code, says, text)
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); !holds(); <-tick.C {
		if time.Now().After(end) {
			t.Fatal(what + ": not within a minute")
		}
	}
}
