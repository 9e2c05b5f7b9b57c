package api

import (
	"context"
	"fmt"
	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/internal/fault"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/listeners/worker"
	"github.com/fanfold/fanfold/operate"
	"github.com/fanfold/fanfold/order"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/record/mysql"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/dir"
	"github.com/fanfold/fanfold/spool"
	"github.com/fanfold/fanfold/web"
)

func TestMain(m *testing.M) { testmain.Main(m) }

// bundle is an API on servers of the package, with keys and a schema of its own. No engine runs.
type bundle struct {
	*testing.T
	api    *API
	url    string
	db     *record.DB
	redis  *redis.Client
	files  *dir.Sink
	prefix string
	log    strings.Builder
	spool  *spool.Spool
	scored func(id string) // starts a job of the report
}

func setup(t *testing.T) *bundle {
	t.Helper()
	server, name := testmain.SharedRedis(t), testmain.Name(t)
	schema, _ := testmain.Schema(t)
	dsn := testmain.SharedDatabase(t).DSN(schema)
	c, err := config.Load("test.yaml", fmt.Appendf(nil, `
redis: %s
redis_keys: {prefix: "%s:", hash: "%s-"}
databases: {db: {dsn: %q}}
records: {database: db}
sink: file://%s
reports:
  typed:
    parameters: {s: string, i: {type: integer, default: 7}, ids: {type: integer, list: true, default: null}}
    listeners: {a: {database: db, query: "SELECT :s AS k, :i AS i FROM DUAL WHERE 1 IN (:ids)"}}
  dated:
    time_zone: Europe/Berlin
    parameters:
      from: {type: date, minimum: 2024-01-01, maximum: 9998-12-31, default: month-1, description: First day}
      tag: {options: [vip, new]}
      level: {type: integer, options: [1, 2], default: null}
      code: {pattern: "[a-z]+", default: a}
    listeners: {c: {database: db, query: "SELECT :from AS k, :tag AS t, :level AS l, :code AS c FROM DUAL"}}
  plain: {listeners: {b: {database: db, query: "SELECT 1 AS k"}}}
  scored: {listeners: {scores: {kind: external, columns: [{name: k, type: integer}], token: token-of-scores-0123456789abcdef0123456789}}}
  other: {listeners: {other: {kind: external, columns: [k], token: token-of-other-0123456789abcdef0123456789}}}
`, server.URL(), name, name, dsn, t.TempDir()), decode.Environment{}, kinds.Standard().Config())
	if err != nil {
		t.Fatal(err)
	}
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	b := &bundle{T: t, redis: redis.NewClient(options), prefix: name}
	t.Cleanup(func() { _ = b.redis.Close() })
	b.db, err = mysql.Kind.Open(report.Database{DSN: report.Secret(dsn)}, record.Options{MaxConnections: 5})
	b.ok(err)
	t.Cleanup(func() { _ = b.db.Close() })
	_, err = record.Migrate(t.Context(), b.db, c.Records.Table)
	b.ok(err)
	_, err = record.MigrateTables(t.Context(), b.db, c.Records.Table)
	b.ok(err)
	records, err := record.New(b.db, c.Records)
	b.ok(err)
	b.files, err = dir.New(strings.TrimPrefix(string(c.Sink.URL), "file://"))
	b.ok(err)
	all := scripts.Partitions{scripts.New(scripts.Options{Redis: b.redis, Keys: c.Keys, JobBytes: c.Limits.JobBytes})}
	of := inspect.Config{Redis: c.Redis, Sources: c.Sources, Reports: c.Reports, Timers: c.Timers, Limits: c.Limits, Records: c.Records}
	in := inspect.New(inspect.Options{Config: of, Scripts: all, Records: records})
	b.api = New(Options{
		Inspect: in, Operate: operate.New(in),
		Prefix: "/fanfold",
		OrderURL: func(_ context.Context, of order.Pass) (string, error) {
			if of.Person == "" {
				return "", fault.Input.New("a link needs a person")
			}
			return fmt.Sprintf("https://x/o/%s+%s+%s", of.Person, of.Tenant, of.Reports), nil
		},
		Find: func(_ context.Context, _, file string) (web.File, error) {
			name, _ := b.files.Name(file)
			formats := kinds.Standard().Formats
			made, _ := files.Parse(name, formats.Endings())
			return web.File{Sink: b.files, Name: name, Made: made, ContentType: formats.ContentType(made.Ending)}, nil
		},
		Size: func(_ context.Context, _, file string) *int64 {
			name, _ := b.files.Name(file)
			size, err := b.files.Size(name)
			if err != nil {
				return nil
			}
			return &size
		},
		Log: slog.New(slog.NewTextHandler(&b.log, nil)),
	})
	place, err := dir.New(t.TempDir())
	b.ok(err)
	b.spool = spool.New(spool.Options{Sink: place, Tag: "abc234"})
	runner, err := listeners.New(listeners.Options{
		Redis: b.redis, Scripts: all.First(), Reports: c.Reports, Limits: c.Limits, Consumer: "c", Only: func(string) bool { return false },
		Spool: b.spool,
	})
	b.ok(err)
	door, err := access.New(report.Site{}, slog.New(slog.DiscardHandler))
	b.ok(err)
	mux := http.NewServeMux()
	mux.Handle("/fanfold/", http.StripPrefix("/fanfold", door.Login(audit.API, b.api)))
	mux.Handle("/fanfold"+Root+"/tasks/", http.StripPrefix("/fanfold"+Root, worker.New(worker.Options{
		Desk: listeners.NewDesk([]*listeners.Runner{runner}), Tokens: listeners.Tokens(c.Reports), Root: "/fanfold" + Root,
	})))
	b.scored = func(id string) {
		plan := scripts.Plan{Report: "scored", Definition: c.Reports["scored"].Hash(), Timeout: time.Hour, Listeners: "scores"}
		_, err := all.First().Jobs.Start(t.Context(), "", scripts.Start{ID: id, Attempt: 1, Parameters: []byte("{}"), Plan: plan})
		b.ok(err)
		b.redis.XGroupCreateMkStream(t.Context(), all.First().Keys.Task("scores"), scripts.Group, "0")
	}
	site := httptest.NewServer(mux)
	t.Cleanup(site.Close)
	b.url = site.URL + "/fanfold" + Root
	return b
}

// ok ends the test on an error.
func (b *bundle) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bundle) exec(statement string, args ...any) {
	b.Helper()
	_, err := b.db.ExecContext(b.Context(), statement, args...)
	b.ok(err)
}

// records counts the records.
func (b *bundle) records() (n int) {
	b.Helper()
	b.ok(b.db.QueryRowContext(b.Context(), "SELECT COUNT(*) FROM file_download_record").Scan(&n))
	return n
}

// insert makes a record with a status and returns its id.
func (b *bundle) insert(report string, status report.Status) string {
	b.Helper()
	done, err := b.db.ExecContext(b.Context(), "INSERT INTO file_download_record (report, parameters, status) VALUES (?, '{}', ?)", report, status)
	b.ok(err)
	id, err := done.LastInsertId()
	b.ok(err)
	return fmt.Sprint(id)
}

// succeed makes a record with a file and returns its id.
func (b *bundle) succeed(text string) string {
	b.Helper()
	id := b.insert("plain", report.Success)
	name := files.Name{Report: "plain", ID: id, Attempt: 1, Ending: ".csv"}.String()
	w, err := b.files.Create(b.Context(), sink.Object{Name: name})
	b.ok(err)
	defer w.Abort()
	_, err = io.WriteString(w, text)
	b.ok(err)
	_, err = w.Commit()
	b.ok(err)
	b.exec("UPDATE file_download_record SET file = ?, attempt = 1 WHERE id = ?", b.files.URL(name), id)
	return id
}

// request makes a request. header has names and values in turn.
func (b *bundle) request(method, path, body string, header ...string) *http.Request {
	b.Helper()
	var from io.Reader
	if body != "" {
		from = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(b.Context(), method, b.url+path, from)
	b.ok(err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// ask sends a request and returns the answer with its whole body.
func (b *bundle) ask(method, path, body string, header ...string) (*http.Response, string) {
	b.Helper()
	answer, err := http.DefaultTransport.RoundTrip(b.request(method, path, body, header...))
	b.ok(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	b.ok(err)
	return answer, string(text)
}
