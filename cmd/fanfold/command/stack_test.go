package command

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/engine/recovery"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/redisdb"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// stack has what an end-to-end test needs: a Redis, a schema, a folder for files and a
// configuration.
type stack struct {
	t      testing.TB
	redis  *testenv.Redis              // the server, if it is alone
	cli    string                      // the options with which redis-cli reaches Redis
	where  func(partitions int) string // the value of redis in its configuration
	schema string
	db     *sql.DB
	dir    string
	config string // file
	b      *backend
}

// stackOn is the variable that selects the Redis of newStack: redisAlone, redisSentinel or
// redisCluster.
const stackOn = "FANFOLD_TEST_ON"

// newStack starts a stack. reports is the YAML below "reports:", in which {schema} stands for the
// name of the schema; the database is named db. more goes above it, such as limits; its section
// databases replaces the default one, with {dsn} for the DSN.
func newStack(t testing.TB, reports string, more ...string) *stack {
	t.Helper()
	switch kind := cmp.Or(os.Getenv(stackOn), redisAlone); kind {
	case redisAlone:
		return newStackAlone(t, nil, reports, more...)
	case redisSentinel:
		s, _ := newStackOnSentinels(t, reports, more...)
		return s
	case redisCluster:
		s, _ := newStackOnCluster(t, 1, reports, more...)
		return s
	default:
		t.Fatalf("%s is %q, and not one of %q", stackOn, kind, redisKinds)
		return nil
	}
}

// newStackAlone is newStack on a single server in any case, for tests that stop the server or
// change its settings.
func newStackAlone(t testing.TB, settings []string, reports string, more ...string) *stack {
	t.Helper()
	return newStackAloneIn(t, 1, settings, reports, more...)
}

// newStackAloneIn is newStackAlone with a number of partitions.
func newStackAloneIn(t testing.TB, partitions int, settings []string, reports string, more ...string) *stack {
	t.Helper()
	server, err := testenv.StartRedis(t.Context(), t.TempDir(), settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	s := &stack{t: t, dir: t.TempDir(), redis: server, cli: cliOptions(server), where: func(partitions int) string { return whereAlone(server.Addr, partitions) }}
	s.begin(partitions, reports, more...)
	return s
}

// newStackOnSentinels is newStack on a master with two replicas and three Sentinels.
func newStackOnSentinels(t testing.TB, reports string, more ...string) (*stack, *testenv.Sentinels) {
	t.Helper()
	set, err := testenv.StartSentinels(t.Context(), t.TempDir(), 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Stop)
	s := &stack{t: t, dir: t.TempDir(), cli: cliOptions(set.Servers[0]), where: func(partitions int) string { return whereSentinels(set, partitions) }}
	s.begin(1, reports, more...)
	return s, set
}

// newStackOnCluster is newStack on three masters with a replica each.
func newStackOnCluster(t testing.TB, partitions int, reports string, more ...string) (*stack, *testenv.Cluster) {
	t.Helper()
	cluster, err := testenv.StartCluster(t.Context(), t.TempDir(), 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Stop)
	s := &stack{t: t, dir: t.TempDir(), cli: "-c " + cliOptions(cluster.Servers[0]), where: func(partitions int) string { return whereCluster(cluster, partitions) }}
	s.begin(partitions, reports, more...)
	return s, cluster
}

func cliOptions(server *testenv.Redis) string {
	_, port, _ := strings.Cut(server.Addr, ":")
	return "-p " + port
}

// Values of redis in a configuration.

func whereAlone(address string, partitions int) string {
	return fmt.Sprintf("{url: \"redis://%s/0\", partitions: %d}", address, partitions)
}

func whereSentinels(set *testenv.Sentinels, partitions int) string {
	return fmt.Sprintf("{sentinel: {master: %s, addresses: [%s]}, partitions: %d}", set.Master, strings.Join(set.Addresses, ", "), partitions)
}

func whereCluster(cluster *testenv.Cluster, partitions int) string {
	return fmt.Sprintf("{cluster: [%s], partitions: %d}", strings.Join(cluster.Addresses(), ", "), partitions)
}

// begin creates the schema and the configuration of a stack that has a Redis.
func (s *stack) begin(partitions int, reports string, more ...string) {
	s.t.Helper()
	s.schema, s.db = testmain.Schema(s.t)
	s.config = s.divided("fanfold.yaml", partitions, reports, more...)
	s.b = s.open(s.config)
	if out, code := s.fanfold("migrate"); code != exitOK {
		s.t.Fatalf("migrate: %d %s", code, out)
	}
}

// in returns the stack for a subtest.
func (s *stack) in(t *testing.T) *stack {
	sub := *s
	sub.t = t
	return &sub
}

// write writes a configuration of this stack.
func (s *stack) write(name, reports string, more ...string) string {
	s.t.Helper()
	return s.divided(name, 1, reports, more...)
}

// openBackend opens a configuration with the kinds of the command.
func openBackend(config string) (*backend, error) {
	f := flags{kinds: kinds.Standard()}
	return f.open(config)
}

// divided writes a configuration of this stack with this number of partitions.
func (s *stack) divided(name string, partitions int, reports string, more ...string) string {
	s.t.Helper()
	above := strings.Join(more, "\n")
	if !strings.Contains(above, "databases:") {
		above += "\ndatabases: {db: {dsn: \"{dsn}\"}}"
	}
	text := fmt.Sprintf("redis: %s\nrecords: {database: db}\nsink: file://%s/files\n%s\nreports:\n%s", s.where(partitions), s.dir, above, reports)
	server := testmain.SharedDatabase(s.t)
	text = server.SQL(strings.NewReplacer("{schema}", s.schema, "{dsn}", server.DSN(s.schema)).Replace(text))
	file := filepath.Join(s.dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return file
}

func (s *stack) open(config string) *backend {
	s.t.Helper()
	b, err := openBackend(config)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(b.Close)
	return b
}

// exec runs SQL.
func (s *stack) exec(query string, args ...any) {
	s.t.Helper()
	if _, err := s.db.ExecContext(s.t.Context(), testmain.SharedDatabase(s.t).SQL(query), args...); err != nil {
		s.t.Fatalf("%.200s: %v", query, err)
	}
}

// serve runs all roles in this process until the test ends, or stop is called.
func (s *stack) serve(config string) (stop func()) {
	s.t.Helper()
	b := s.open(config)
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Serve(ctx, process.Roles, slog.New(slog.NewTextHandler(testLog{s.t}, nil))) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("serve: %v", err)
		}
	}
	s.t.Cleanup(stop)
	return stop
}

// testLog writes to the test's log.
type testLog struct{ t testing.TB }

func (l testLog) Write(b []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}

// process starts fanfold as a separate process, which is killed at the end of the test.
func (s *stack) process(args ...string) *exec.Cmd {
	s.t.Helper()
	return s.processWith(nil, args...)
}

// processWith is process with additional environment variables.
func (s *stack) processWith(env []string, args ...string) *exec.Cmd {
	s.t.Helper()
	c := command(args...)
	c.Env = append(c.Env, env...)
	var log bytes.Buffer
	c.Stdout, c.Stderr = &log, &log
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
		if s.t.Failed() {
			s.t.Logf("process %d: %s", c.Process.Pid, log.String())
		}
	})
	return c
}

// command returns a command that runs this test binary as fanfold.
func command(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), asFanfold+"=1")
	c.WaitDelay = 10 * time.Second
	return c
}

// fanfold runs a command in this process and returns its output and exit code.
func (s *stack) fanfold(args ...string) (string, int) {
	s.t.Helper()
	var out bytes.Buffer
	code := run(s.t.Context(), append([]string{"-c", s.config}, args...), &out, &out)
	return out.String(), code
}

// installation returns the tag in the names of this stack's files; empty without the tables.
func (s *stack) installation() string {
	s.t.Helper()
	tag, err := s.b.Records.Install(s.t.Context())
	if err != nil && !errors.Is(err, recovery.ErrNoTables) {
		s.t.Fatal(err)
	}
	return tag
}

// fileName returns the name of an uncompressed file of this stack.
func (s *stack) fileName(report, id string, attempt int64) string {
	s.t.Helper()
	return files.Name{Report: report, ID: id, Attempt: attempt, Tag: s.installation(), Ending: ".csv"}.String()
}

// insert writes a record and returns its id.
func (s *stack) insert(report, parameters string) string {
	s.t.Helper()
	id, err := s.b.Records.Insert(s.t.Context(), report, []byte(cmp.Or(parameters, "{}")))
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

// push pushes ids as a service does.
func (s *stack) push(ids ...string) {
	s.t.Helper()
	if err := s.b.Operate.Jobs.Push(s.t.Context(), ids...); err != nil {
		s.t.Fatal(err)
	}
}

// run inserts a record, pushes it, and returns the ended job.
func (s *stack) run(report, parameters string) inspect.Job {
	s.t.Helper()
	id := s.insert(report, parameters)
	s.push(id)
	return s.wait(id)[0]
}

// wait waits until the records are final.
func (s *stack) wait(ids ...string) jobViews {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	views, err := s.b.await(ctx, ids, io.Discard)
	if err != nil {
		for _, id := range ids {
			if v, viewErr := s.b.Inspect.Jobs.Get(s.t.Context(), id); viewErr != nil || !v.Status.Final() {
				s.t.Logf("%s: %+v %v", id, v, viewErr)
			}
		}
		s.t.Fatal(err)
	}
	return views
}

// succeed runs a job and returns the content of its file.
func (s *stack) succeed(report, parameters string) string {
	s.t.Helper()
	return s.content(s.run(report, parameters))
}

// content returns the file of a job that succeeded.
func (s *stack) content(v inspect.Job) string {
	s.t.Helper()
	if v.Status != report.Success {
		s.t.Fatalf("job %s is %s: %s", v.ID, v.Status, v.Error)
	}
	b, err := os.ReadFile(strings.TrimPrefix(v.File, "file://"))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

// expect returns the result of a query as CSV according to RFC 4180, without the code under test.
func (s *stack) expect(header, query string) string {
	s.t.Helper()
	rows, err := s.db.QueryContext(s.t.Context(), testmain.SharedDatabase(s.t).SQL(query))
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		s.t.Fatal(err)
	}
	cells := make([]sql.RawBytes, len(columns))
	targets := make([]any, len(columns))
	for i := range cells {
		targets[i] = &cells[i]
	}
	var out strings.Builder
	out.WriteString(header + "\r\n")
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			s.t.Fatal(err)
		}
		for i, c := range cells {
			if i > 0 {
				out.WriteByte(',')
			}
			if bytes.ContainsAny(c, ",\"\r\n") {
				out.WriteString(`"` + strings.ReplaceAll(string(c), `"`, `""`) + `"`)
			} else {
				out.Write(c)
			}
		}
		out.WriteString("\r\n")
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return out.String()
}

// number returns the integer that a query finds.
func (s *stack) number(query string, args ...any) int {
	s.t.Helper()
	var n sql.NullInt64
	if err := s.db.QueryRowContext(s.t.Context(), query, args...).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return int(n.Int64)
}

// eventually polls until a condition holds.
func (s *stack) eventually(what string, holds func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			s.t.Fatalf("not within a minute: %s", what)
		case <-tick.C:
		}
	}
}

// numbers returns "1", "2" … "n".
func numbers(n int) []string {
	var list []string
	for i := range n {
		list = append(list, strconv.Itoa(i+1))
	}
	return list
}

// status returns the status of a job from its state in Redis, also of a job that has just ended;
// empty if Redis has neither.
func (s *stack) status(id string) string {
	s.t.Helper()
	_, statuses, err := s.b.Partitions.First().Jobs.Attempts(s.t.Context(), []string{id})
	if err != nil {
		s.t.Fatal(err)
	}
	return statuses[0]
}

// flushAll deletes all data of Redis.
func (s *stack) flushAll() {
	s.t.Helper()
	masters, err := redisdb.Masters(s.t.Context(), s.b.Redis)
	for _, m := range masters {
		err = errors.Join(err, m.FlushAll(s.t.Context()).Err())
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// reads returns the number of entries of a listener's stream that workers have read and not
// completed.
func (s *stack) reads(listener string) int64 {
	s.t.Helper()
	pending, err := s.b.Redis.XPending(s.t.Context(), s.b.Partitions.First().Keys.Task(listener), scripts.Group).Result()
	if err != nil {
		return 0
	}
	return pending.Count
}

// setJob changes one word of a job's state.
func (s *stack) setJob(id string, word int, value string) {
	s.t.Helper()
	key := s.b.Partitions.First().Keys.Job(id)
	words := strings.Split(s.b.Redis.HGet(s.t.Context(), key, "job").Val(), " ")
	if len(words) <= word {
		s.t.Fatalf("the state of %s is %q", id, words)
	}
	words[word] = value
	if err := s.b.Redis.HSet(s.t.Context(), key, "job", strings.Join(words, " ")).Err(); err != nil {
		s.t.Fatal(err)
	}
}

// loseData deletes the columns of a job and keeps its state.
func (s *stack) loseData(id string) {
	s.t.Helper()
	key := s.b.Partitions.First().Keys.Job(id)
	for field := range s.b.Redis.HGetAll(s.t.Context(), key).Val() {
		if strings.Contains(field, ".") && !strings.Contains(field, ":") || strings.HasPrefix(field, "one.") {
			if err := s.b.Redis.HDel(s.t.Context(), key, field).Err(); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}
