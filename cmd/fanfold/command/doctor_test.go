package command

import (
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/inspect/doctor"
	"github.com/fanfold/fanfold/inspect/why"
	"github.com/fanfold/fanfold/scripts"
)

// finding returns doctor's first finding whose check begins with this text.
func (s commands) finding(check string) doctor.Finding {
	s.Helper()
	out, _ := s.fanfold("doctor", "-o", "json")
	var all doctor.Findings
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&all); err != nil {
		s.Fatal(err, out)
	}
	for _, f := range all {
		if strings.HasPrefix(f.Check, check) {
			return f
		}
	}
	s.Fatalf("no check %q in %s", check, out)
	return doctor.Finding{}
}

// TestDoctorOnKeys: doctor finds key columns of two collations, whose texts no join can compare, and does not run the
// queries to find out.
func TestDoctorOnKeys(t *testing.T) {
	t.Parallel()
	s := newStack(t, `
  mails:
    parameters: {id: integer, n: integer}
    listeners:
      people: {database: db, query: "SELECT id, mail, day FROM people WHERE id > :id LIMIT :n;"}
      bytes: {database: db, query: "SELECT mail COLLATE utf8mb4_bin AS mail, id AS b FROM people -- all"}
      others: {database: db, query: "SELECT SLEEP(id + 100) AS slept, other FROM people"}
    join: {key: mail, listeners: [people, bytes, {name: others, key: other}]}
  named:
    listeners:
      people: {database: db, query: "SELECT id, mail FROM people"}
      others: {database: db, query: "SELECT other COLLATE utf8mb4_general_ci AS mail, day FROM people"}
    join: {key: mail}
`)
	s.Records.Exec("CREATE TABLE people (id INT, mail VARCHAR(60) COLLATE utf8mb4_general_ci, other VARCHAR(60) COLLATE utf8mb4_unicode_ci, day DATE)")
	s.Records.Exec("INSERT INTO people VALUES (1, 'a', 'a', '2024-02-29')")
	out, code := s.fanfold("doctor", "-o", "json")
	var all doctor.Findings
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&all); err != nil || code == exitOK {
		t.Fatal(err, code, out)
	}
	const want = `FAIL: join of listener "others": texts of the collations utf8mb4_general_ci and utf8mb4_unicode_ci meet. ` +
		`Write COLLATE utf8mb4_general_ci or COLLATE utf8mb4_unicode_ci after one of them, in the query of a listener`
	for _, f := range all {
		if got := f.Result + ": " + f.Detail; strings.HasPrefix(f.Check, "fold ") && (f.Check != "fold mails" || got != want) {
			t.Errorf("%s: %s", f.Check, got)
		}
	}
	if f := s.finding("fold mails"); f.Result != doctor.Fail || !strings.Contains(f.Hint, "report mails") {
		t.Errorf("%+v", f)
	}
}

// TestDoctorOfAFullRedis: doctor says how full Redis is.
func TestDoctorOfAFullRedis(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, nil, e2e.Slow)
	if f := s.finding("redis memory"); f.Result != doctor.Pass || !strings.Contains(f.Detail, "of maxmemory (2.0 GB)") {
		t.Errorf("%+v", f)
	}
	set := func(most string) {
		t.Helper()
		if err := s.Redis.ConfigSet(t.Context(), "maxmemory", most).Err(); err != nil {
			t.Fatal(err)
		}
	}
	set("0")
	if f := s.finding("redis memory"); f.Result != doctor.Warn || !strings.Contains(f.Detail, "without maxmemory") || !strings.Contains(f.Hint, "redis.conf") {
		t.Errorf("%+v", f)
	}
	set("900mb")
	if f := s.finding("redis memory"); f.Result != doctor.Warn || !strings.Contains(f.Detail, "limits.job_bytes (1.0 GB) is more") {
		t.Errorf("%+v", f)
	}
	if f := s.finding("jobs in a full Redis"); f.Result != doctor.Pass {
		t.Errorf("%+v", f)
	}
	s.Redis.Set(t.Context(), "fanfold:full", time.Now().UnixMilli(), time.Minute)
	if f := s.finding("jobs in a full Redis"); f.Result != doctor.Warn || !strings.Contains(f.Detail, "0 jobs compete for its memory") {
		t.Errorf("%+v", f)
	}
	set("1gb")
	if f := s.finding("redis memory"); f.Result != doctor.Pass {
		t.Errorf("%+v", f)
	}
	s.Redis.Set(t.Context(), "ballast", strings.Repeat("x", 90<<20), 0)
	set("105mb")
	if f := s.finding("redis memory"); f.Result != doctor.Warn || !strings.Contains(f.Detail, "limits.redis_memory_percent") {
		t.Errorf("%+v", f)
	}
	set("10mb")
	if f := s.finding("redis memory"); f.Result != doctor.Fail || !strings.Contains(f.Detail, "refuses writes") {
		t.Errorf("%+v", f)
	}
	// The error of a push says that Redis is full.
	id := s.Records.Insert("slow", "")
	if out, code := s.fanfold("submit", id); code != exitFailure || !strings.Contains(out, "Redis is full") {
		t.Errorf("%d %s", code, out)
	}
}

// TestDoctorOfConnections: doctor says how many more clients Redis takes.
func TestDoctorOfConnections(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, nil, e2e.Slow)
	if f := s.finding("redis connections"); f.Result != doctor.Pass || !strings.Contains(f.Detail, "of maxclients") {
		t.Errorf("%+v", f)
	}
	if err := s.Redis.ConfigSet(t.Context(), "maxclients", "60").Err(); err != nil {
		t.Fatal(err)
	}
	var clients []*redis.Client
	for range 30 {
		client := s.Server.Client()
		t.Cleanup(func() { _ = client.Close() })
		if err := client.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		clients = append(clients, client)
	}
	if f := s.finding("redis connections"); f.Result != doctor.Warn || !strings.Contains(f.Detail, "of maxclients 60") || !strings.Contains(f.Hint, "raise maxclients") {
		t.Errorf("%+v with %d clients", f, len(clients))
	}
}

// TestDoctorOfWhatNobodyDoes: doctor warns of quarantined entries, timers without a definition and
// records without a job, and not of records with a job.
func TestDoctorOfWhatNobodyDoes(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow, `limits: {recover_after: 10m, shutdown_timeout: 1s}
timers: {beep: {key: "beep-{x}", append: {stream: messages, fields: {x: "{x}"}}}}`)
	ctx, sc := t.Context(), s.Partitions.First()
	for _, check := range []string{"quarantine", "timers", "records to be started", "definitions of running jobs"} {
		if f := s.finding(check); f.Result != doctor.Pass {
			t.Errorf("%+v", f)
		}
	}
	if err := sc.Streams.Quarantine(ctx, sc.Keys.Jobs, "1-1", map[string]string{"id": "7"}, "nobody knows it"); err != nil {
		t.Fatal(err)
	}
	if f := s.finding("quarantine"); f.Result != doctor.Warn || !strings.Contains(f.Detail, "nobody knows it") || !strings.Contains(f.Hint, "fanfold quarantine ls") {
		t.Errorf("%+v", f)
	}
	s.must("quarantine ls", "nobody knows it")
	var entries []inspect.Quarantined
	out, _ := s.fanfold("quarantine", "ls", "-o", "json", "--match", "*nobody*")
	if err := json.Unmarshal([]byte(out), &entries); err != nil || len(entries) != 1 {
		t.Fatal(err, out)
	}
	if out, code := s.fanfold("quarantine", "rm", "1-1"); code != exitNotFound {
		t.Errorf("%d %s", code, out)
	}
	if out, code := s.fanfold("quarantine", "rm", "x"); code != exitUsage {
		t.Errorf("%d %s", code, out)
	}
	if out, code := s.fanfold("quarantine", "rm"); code != exitUsage {
		t.Errorf("%d %s", code, out)
	}
	s.must("quarantine rm "+entries[0].Entry, entries[0].Entry)
	s.must("quarantine rm --all", "REMOVED")
	if f := s.finding("quarantine"); f.Result != doctor.Pass {
		t.Errorf("%+v", f)
	}
	past := float64(time.Now().Add(-time.Minute).UnixMilli())
	s.Redis.ZAdd(ctx, sc.Keys.Timers, redis.Z{Score: past, Member: "beep-1"})
	if f := s.finding("timers"); f.Result != doctor.Warn || !strings.Contains(f.Hint, "--roles scheduler") {
		t.Errorf("%+v", f)
	}
	s.Redis.ZAdd(ctx, sc.Keys.Timers, redis.Z{Score: past, Member: "boop-1"})
	if f := s.finding("timers"); f.Result != doctor.Warn || !strings.Contains(f.Detail, "boop-1") || !strings.Contains(f.Detail, "no definition matches") {
		t.Errorf("%+v", f)
	}
	s.must("timer ls", "overdue, no definition")
	stop := s.Serve(s.File)
	id := s.Records.Insert("slow", `{"seconds": 60}`)
	s.Jobs.Push(id)
	s.Eventually("it runs", func() bool { return s.ask(id).Kind == why.KindRunning })
	later, forgotten := s.Records.Insert("slow", ""), s.Records.Insert("slow", "")
	sc.Clock.Delay(ctx, later, time.Hour)
	s.Records.Exec("UPDATE file_download_record SET updated_at = NOW() - INTERVAL 1 DAY WHERE id IN (?, ?)", id, later)
	if f := s.finding("records to be started"); f.Result != doctor.Pass {
		t.Errorf("%+v", f)
	}
	stop() // otherwise the rebuild starts it
	s.Records.Exec("UPDATE file_download_record SET updated_at = NOW() - INTERVAL 1 DAY WHERE id = ?", forgotten)
	if f := s.finding("records to be started"); f.Result != doctor.Warn || !strings.Contains(f.Detail, "1 PENDING and 0 PROCESSING") || !strings.Contains(f.Detail, forgotten) {
		t.Errorf("%+v", f)
	}
}

// TestDoctorOfADeadService: doctor warns as soon as the consumers of an external listener do not
// read waiting entries.
func TestDoctorOfADeadService(t *testing.T) {
	t.Parallel()
	s := newStack(t, `
  outside: {listeners: {vendor.scores: {kind: external, columns: [k]}}}
`)
	ctx, stream := t.Context(), s.Partitions.First().Keys.Task("vendor.scores")
	read := func(count int64) {
		t.Helper()
		err := s.Redis.XReadGroup(ctx, &redis.XReadGroupArgs{Group: scripts.Group, Consumer: "dead", Streams: []string{stream, ">"}, Count: count, Block: -1}).Err()
		if err != nil && err != redis.Nil {
			t.Fatal(err)
		}
	}
	if err := s.Redis.XGroupCreateMkStream(ctx, stream, scripts.Group, "0").Err(); err != nil {
		t.Fatal(err)
	}
	add := func() string {
		return s.Redis.XAdd(ctx, &redis.XAddArgs{Stream: stream, Values: []string{"id", "1", "attempt", "1"}}).Val()
	}
	// Redis lists a consumer after its first entry.
	first := add()
	read(1)
	s.Redis.XAck(ctx, stream, scripts.Group, first)
	s.Redis.XDel(ctx, stream, first)
	if f := s.finding("stream " + stream); f.Result != doctor.Pass || !strings.Contains(f.Detail, "1 consumer") {
		t.Errorf("%+v", f)
	}
	for range 3 {
		add()
	}
	s.Eventually("it is missed", func() bool {
		f := s.finding("stream " + stream)
		return f.Result == doctor.Warn && strings.Contains(f.Detail, "3 entries, 0 of them in work, 1 consumer; none of them reads") && strings.Contains(f.Hint, "the service of this listener")
	})
	// A consumer that works on an entry is alive until its silence ends.
	read(1)
	if f := s.finding("stream " + stream); f.Result != doctor.Pass {
		t.Errorf("%+v", f)
	}
}

// TestQuarantineRemovesManyEntries: quarantine rm removes several pages of entries, also if one
// entry does not exist.
func TestQuarantineRemovesManyEntries(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	ctx, key := t.Context(), s.Partitions.First().Keys.Quarantined
	entries := []string{"1-1"}
	_, err := s.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range 1010 { // a page has 1,000
			entries = append(entries, fmt.Sprintf("2-%d", i+1))
			p.XAdd(ctx, &redis.XAddArgs{Stream: key, ID: entries[i+1], Values: []string{"reason", "none"}})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("1 of %d entries are not in %s; the others were removed", len(entries), key)
	if out, code := s.fanfold(append([]string{"quarantine", "rm"}, entries...)...); code != exitNotFound || !strings.Contains(out, want) {
		t.Errorf("%d %s", code, out)
	}
	if n := s.Redis.XLen(ctx, key).Val(); n != 0 {
		t.Errorf("%d are left", n)
	}
}

// TestDoctorOfALongQueue: doctor does not report a record without a job if its id may be further
// back in the queue than it searches. It reads all records of a report with one query.
func TestDoctorOfALongQueue(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, nil, e2e.Slow, "limits: {recover_after: 1s}")
	ctx := t.Context()
	for range 5 {
		s.Records.Insert("slow", "")
	}
	parked, last := s.Records.Insert("slow", ""), s.Records.Insert("slow", "")
	s.Records.Exec("UPDATE file_download_record SET updated_at = NOW() - INTERVAL 1 DAY")
	s.Redis.ZAdd(ctx, s.Partitions.First().Keys.Waiting("slow"), redis.Z{Score: 1, Member: parked})
	if f := s.finding("records to be started"); f.Result != doctor.Warn || !strings.Contains(f.Detail, "6 PENDING and 0 PROCESSING") || !strings.Contains(f.Detail, "have no job") {
		t.Errorf("%+v", f)
	}
	if stats := s.Redis.Info(ctx, "commandstats").Val(); strings.Contains(stats, "cmdstat_zscore:") {
		t.Errorf("records are asked for one by one:\n%s", stats)
	}
	_, err := s.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range 10_000 {
			p.XAdd(ctx, &redis.XAddArgs{Stream: s.Partitions.First().Keys.Jobs, Values: []string{"id", fmt.Sprint(1_000_000 + i)}})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Jobs.Push(last)
	if f := s.finding("records to be started"); f.Result != doctor.Warn || strings.Contains(f.Detail, "have no job") || !strings.Contains(f.Detail, "6 PENDING and 0 PROCESSING") || !strings.Contains(f.Detail, "were compared only with") {
		t.Errorf("%+v", f)
	}
}

// TestDoctorOfADatabaseThatHangs: a database that hangs fails its own check and no other.
func TestDoctorOfADatabaseThatHangs(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	s := newStack(t, e2e.Slow, `databases: {a: {dsn: "u@tcp(`+silent.Addr().String()+`)/x"}, db: {dsn: "{dsn}"}}`)
	out, code := s.fanfold("doctor", "-o", "json")
	var all doctor.Findings
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&all); err != nil {
		t.Fatal(err, out)
	}
	if code != exitFailure || all.Count(doctor.Fail) != 1 || !all.Failed("database a") {
		t.Errorf("%d %s", code, out)
	}
	for _, check := range []string{"database db", "records", "scratch files"} {
		if !slices.ContainsFunc(all, func(f doctor.Finding) bool { return f.Check == check && f.Result == doctor.Pass }) {
			t.Errorf("%s is not %s: %s", check, doctor.Pass, out)
		}
	}
}

// TestDoctorOfAnUnknownReport: doctor warns of a record with an unknown report, which neither a
// rebuild nor submit can start.
func TestDoctorOfAnUnknownReport(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow, "limits: {recover_after: 1s}")
	id := s.Records.Insert("gone", "")
	s.Records.Exec("UPDATE file_download_record SET updated_at = NOW() - INTERVAL 1 DAY")
	f := s.finding("records to be started")
	if f.Result != doctor.Warn || !strings.Contains(f.Detail, "record "+id+` names report "gone"`) || strings.Contains(f.Hint, "submit") {
		t.Errorf("%+v", f)
	}
}

// TestDoctorOfACluster: doctor checks every master of a cluster and receives the events of each.
func TestDoctorOfACluster(t *testing.T) {
	t.Parallel()
	s, cluster := newStackOnCluster(t, 3, e2e.Slow)
	if f := s.finding("redis partitions"); f.Result != doctor.Warn || !strings.HasPrefix(f.Detail, "2 of 3 partitions are on one of 3 masters") ||
		!strings.HasSuffix(f.Hint, "configure 5 partitions, of which no master has more than 2") {
		t.Errorf("%+v", f)
	}
	if err := cluster.MoveSlotTo(t.Context(), "{fanfold:2}", cluster.Servers[2]); err != nil {
		t.Fatal(err)
	}
	s.Use(s.File)
	if f := s.finding("redis partitions"); f.Result != doctor.Pass {
		t.Errorf("%+v", f)
	}
	out, code := s.fanfold("doctor")
	for _, master := range cluster.Servers[:3] {
		for _, check := range []string{"redis version", "redis eviction", "redis notifications"} {
			if !regexp.MustCompile(`PASS +` + check + ` of ` + master.Addr).MatchString(out) {
				t.Errorf("%d, no %s of %s in %s", code, check, master.Addr, out)
			}
		}
	}
	if !strings.Contains(out, "expired, del, set and zadd are published") || code != exitOK {
		t.Errorf("%d %s", code, out)
	}
}

// TestDoctorOnColumns: doctor finds queries that give other columns than the configuration lists, and folds that the
// types of the columns do not allow. It does not run the queries.
func TestDoctorOnColumns(t *testing.T) {
	t.Parallel()
	s := newStack(t, `
  people:
    parameters: {from: date, n: {type: integer, default: "1"}, tag: {type: string, list: true, default: [a]}}
    listeners:
      sound: {database: db, query: "SELECT id, :from AS since, SLEEP(100 + id) AS slept FROM people WHERE day > :from LIMIT :n;"}
      named: {database: db, query: "SELECT * FROM people -- all", columns: [id, nam, day]}
      turned: {database: db, query: "SELECT * FROM people WHERE name IN (:tag)", columns: [name, id, day]}
      more: {database: db, query: "SELECT * FROM people WHERE id IN (:sound.id)", columns: [id, name]}
      twice: {database: db, query: "SELECT * FROM people a JOIN people b", columns: [id, x]}
    join: {key: id}
    file: {columns: [id]}
  zones:
    listeners:
      here: {database: db, query: "SELECT id, at FROM times"}
      there: {database: berlin, query: "SELECT id, at FROM times"}
      free: {kind: external, columns: [id]}
    fold: |
      SELECT id, at FROM here
      UNION ALL SELECT t.id, t.at FROM there t
      LEFT JOIN free f ON f.id = t.id
  typed:
    parameters: {least: decimal}
    listeners:
      here: {database: db, query: "SELECT id, at, :least AS least FROM times"}
      there: {database: berlin, query: "SELECT id, at FROM times"}
    fold: SELECT h.id, h.at, t.at AS other FROM here h JOIN there t ON t.id = h.id WHERE h.least > :least
`, `databases: {db: {dsn: "{dsn}"}, berlin: {dsn: "{dsn}", time_zone: Europe/Berlin}}`)
	s.Records.Exec("CREATE TABLE people (id INT, name VARCHAR(60), day DATE)")
	s.Records.Exec("INSERT INTO people VALUES (1, 'a', '2024-02-29')")
	s.Records.Exec("CREATE TABLE times (id INT, at DATETIME)")
	out, code := s.fanfold("doctor", "-o", "json")
	var all doctor.Findings
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&all); err != nil || code != exitFailure {
		t.Fatal(err, code, out)
	}
	got := map[string]string{}
	for _, f := range all {
		if strings.HasPrefix(f.Check, "columns ") || strings.HasPrefix(f.Check, "fold ") {
			got[f.Check] = f.Result + ": " + f.Detail + ". " + f.Hint
		}
	}
	for check, words := range map[string][]string{
		"columns people / named":  {"FAIL: the query gives no column nam.", `Did you mean "name"?`, "or write columns: [id, name, day] in ", "fanfold.yaml:11, or change the query"},
		"columns people / turned": {"FAIL: the query gives the columns in another order: id, name, day.", "write columns: [id, name, day] in ", "fanfold.yaml:12,"},
		"columns people / more":   {"FAIL: the query also gives day, which columns does not list.", "fanfold.yaml:13,"},
		"columns people / twice":  {"FAIL: ", "Duplicate column name 'id'", "AS", "correct the query of ", "fanfold.yaml:14"},
		"fold zones": {"FAIL: line 2, column 11 of the fold: in the column at of a UNION, datetimes of the time zones UTC and Europe/Berlin meet", "Convert one of them with CONVERT_TZ",
			"correct the fold of report zones (", "fanfold.yaml:17), or the types in its queries"},
	} {
		for _, word := range words {
			if !strings.Contains(got[check], word) {
				t.Errorf("%s: no %q in %q", check, word, got[check])
			}
		}
		delete(got, check)
	}
	if len(got) > 0 {
		t.Errorf("more findings: %v", got)
	}
}
