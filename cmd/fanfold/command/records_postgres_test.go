package command

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

// TestRecordsInPostgres: the commands of an installation work with records in PostgreSQL, and jobs end whatever
// happens: also after an outage of the server and the loss of Redis.
func TestRecordsInPostgres(t *testing.T) {
	t.Parallel()
	server, err := testenv.StartPostgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	s := withCommands(e2e.NewAlone(t, nil, e2e.Who, "limits: {recover_after: 1s}", fmt.Sprintf(
		"\ndatabases: {db: {dsn: \"{dsn}\"}, records: {dsn: %q}}\nrecords: {database: records}", server.DSN("postgres"))))
	ok := func(want string, args ...string) {
		t.Helper()
		if out, code := s.fanfold(args...); code != exitOK || !strings.Contains(out, want) {
			t.Fatalf("%s: %d %s", args, code, out)
		}
	}
	ok("nothing", "migrate")
	ok("table and columns are as configured", "doctor")
	log := &testmain.Log{}
	s.ServeInto(log, "127.0.0.1:0")
	first := s.Jobs.Run("who", e2e.WhoParameters("ann", 0))
	if got := s.Files.Content(first); got != e2e.WhoFile("ann") {
		t.Errorf("%q", got)
	}
	ok(first.ID, "list", "--param", "who=ann")
	if out, _ := s.fanfold("list", "--param", "who=bob"); strings.Contains(out, first.ID) {
		t.Error(out)
	}
	ok("", "retry", first.ID)
	if v := s.Jobs.Wait(first.ID)[0]; v.Status != report.Success || v.Attempt != 2 {
		t.Errorf("after a retry: %+v", v)
	}
	running := s.Records.Insert("who", e2e.WhoParameters("bob", 60))
	ok("", "submit", running)
	s.Eventually("it runs", func() bool { return s.Jobs.Reads("one") == 1 })
	ok("", "cancel", running)
	if v := s.Jobs.Wait(running)[0]; v.Status != report.Cancelled {
		t.Errorf("after a cancellation: %+v", v)
	}

	// The server stops while a job runs, and Redis forgets another one.
	ending, lost := s.Records.Insert("who", e2e.WhoParameters("eve", 2)), s.Records.Insert("who", e2e.WhoParameters("joe", 0))
	s.Jobs.Push(ending)
	s.Eventually("it runs", func() bool { return s.Jobs.Reads("one") == 1 })
	server.Stop()
	if out, code := s.fanfold("list"); code != exitUnreachable || !strings.Contains(out, "database records does not answer: ") {
		t.Errorf("without a server: %d %s", code, out)
	}
	s.Eventually("the query ends meanwhile", func() bool { return s.Jobs.Reads("one") == 0 })
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Server.FlushAll()
	for _, v := range s.Jobs.Wait(ending, lost) {
		if v.Status != report.Success {
			t.Errorf("%+v", v)
		}
	}

	// A request that is repeated creates one job.
	lines := log.Lines("listens=")
	if len(lines) != 1 {
		t.Fatal(lines)
	}
	_, address, _ := strings.Cut(strings.TrimSpace(lines[0]), "listens=")
	var ids []string
	for range 2 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/api/v1/reports/who/jobs", strings.NewReader(`{"who": "zoe"}`))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Idempotency-Key", "k")
		request.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		var job struct{ ID string }
		if err := json.NewDecoder(answer.Body).Decode(&job); err != nil || job.ID == "" {
			t.Fatal(answer.Status, err)
		}
		_ = answer.Body.Close()
		ids = append(ids, job.ID)
	}
	http.DefaultClient.CloseIdleConnections()
	if ids[0] != ids[1] {
		t.Errorf("a repeated request created %s", ids)
	}
	s.Jobs.Wait(ids[0])
	if n := s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE status IN ('PENDING', 'PROCESSING')"); n != 0 {
		t.Errorf("%d records are left", n)
	}
}

// TestGrantsInPostgres: serve works with exactly the grants of the documentation on tables that another account has made.
func TestGrantsInPostgres(t *testing.T) {
	t.Parallel()
	name := testmain.PostgresDatabase(t, "CREATE SCHEMA plt_user")
	server := testmain.SharedPostgres(t)
	of := func(role string) string {
		return fmt.Sprintf("\ndatabases: {db: {dsn: \"{dsn}\"}, records: {dsn: %q}}\nrecords: {database: records}",
			strings.Replace(server.DSN(name), "postgres@", role+"@", 1)+"&search_path=plt_user")
	}
	s := newStackAlone(t, nil, e2e.Who, of("postgres"))
	role := name[:min(30, len(name))] + "_app"
	statements := "CREATE ROLE " + role + " LOGIN"
	for _, grant := range regexp.MustCompile(`(?m)^GRANT .* plt_user\b.* TO app;$`).FindAllString(strings.Join(fenced(t, "docs/reference/postgres.md", "sql"), "\n"), -1) {
		statements += "; " + strings.Replace(grant, "TO app;", "TO "+role, 1)
	}
	if err := server.Exec(t.Context(), name, statements); err != nil {
		t.Fatal(err)
	}
	s.Use(s.Write("app.yaml", e2e.Who, of(role)))
	s.Serve(s.File)
	if v := s.Jobs.Run("who", e2e.WhoParameters("ann", 0)); s.Files.Content(v) != e2e.WhoFile("ann") {
		t.Errorf("%+v", v)
	}
	s.Redis.ZAdd(t.Context(), s.Partitions.First().Keys.Timers, redis.Z{Score: e2eTomorrow(), Member: "send_message-42-welcome"})
	s.Records.InSnapshot(1)
	if _, _, err := s.Process.Records.InsertOnce(t.Context(), "key", record.Request{Report: "who", Parameters: []byte(e2e.WhoParameters("ann", 0))}); err != nil {
		t.Error(err)
	}
	if _, err := s.Process.Records.Submit(t.Context(), "timer", 1, "who", []byte(e2e.WhoParameters("ann", 0))); err != nil {
		t.Error(err)
	}
	for _, command := range []string{"doctor", "list"} {
		if out, _ := s.fanfold(command); strings.Contains(out, "denied") {
			t.Errorf("%s: %s", command, out)
		}
	}
}

// e2eTomorrow is a due time that no test reaches.
func e2eTomorrow() float64 { return float64(time.Now().Add(24 * time.Hour).UnixMilli()) }

// TestExistingTableInPostgres: jobs of a service's table, with ids of type uuid, statuses of an enum and times without a
// zone.
func TestExistingTableInPostgres(t *testing.T) {
	t.Parallel()
	name := testmain.PostgresDatabase(t, "CREATE SCHEMA shop", "CREATE TYPE shop.state AS ENUM ('new', 'busy', 'ok', 'bad', 'off')",
		`CREATE TABLE shop."Exports" (nr uuid PRIMARY KEY DEFAULT gen_random_uuid(), kind text NOT NULL, args jsonb,
			state shop.state NOT NULL DEFAULT 'new', n smallint, url text, changed timestamp DEFAULT now())`)
	s := newStackAlone(t, nil, e2e.Who, fmt.Sprintf(`
databases: {db: {dsn: "{dsn}"}, records: {dsn: %q, time_zone: Asia/Shanghai}}
limits: {recover_after: 1s}
records:
  database: records
  table: shop.Exports
  filter: kind <> 'other'
  columns: {id: nr, report: kind, parameters: args, status: state, attempt: n, file: url, updated: changed, error: "-", rows: "-"}
  statuses: {PENDING: new, PROCESSING: busy, SUCCESS: ok, FAILED: bad, CANCELLED: "off"}`, testmain.SharedPostgres(t).DSN(name)))
	s.Serve(s.File)
	v := s.Jobs.Run("who", e2e.WhoParameters("ann", 0))
	if s.Files.Content(v) != e2e.WhoFile("ann") {
		t.Errorf("%+v", v)
	}
	// Nobody pushes this one: a pass finds it.
	s.Records.Exec(`INSERT INTO shop."Exports" (kind, args, changed) VALUES ('who', '{"who": "bob"}', now() - interval '1 hour'), ('other', '{}', NULL)`)
	s.Server.FlushAll()
	s.Eventually("both have files", func() bool {
		return s.Records.Number(`SELECT COUNT(*) FROM shop."Exports" WHERE state = 'ok' AND url IS NOT NULL AND n = 1`) == 2
	})
	if n := s.Records.Number(`SELECT COUNT(*) FROM shop."Exports" WHERE state = 'ok' AND changed BETWEEN
		(clock_timestamp() AT TIME ZONE 'Asia/Shanghai') - interval '5 minutes' AND (clock_timestamp() AT TIME ZONE 'Asia/Shanghai')`); n != 2 {
		t.Errorf("%d records changed just now", n)
	}
	if n := s.Records.Number(`SELECT COUNT(*) FROM shop."Exports" WHERE kind = 'other' AND state = 'new'`); n != 1 {
		t.Error("a row that the filter hides was changed")
	}
	for want, args := range map[string][]string{v.ID: {"list", "--param", "who=ann"}, "column": {"doctor"}} {
		if out, code := s.fanfold(args...); code != exitOK || !strings.Contains(out, want) {
			t.Errorf("%s: %d %s", args, code, out)
		}
	}
}
