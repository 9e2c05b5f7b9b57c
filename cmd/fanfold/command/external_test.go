package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// scored is a report whose second stage is an external listener, as in
// docs/guides/external-listeners.md.
const scored = `
  scored:
    parameters: {from: date}
    retry: {retries: 5, delay: 100ms}
    listeners:
      shop.users: {database: db, query: "SELECT user_id, name FROM users WHERE since >= :from ORDER BY user_id"}
      vendor.scores: {after: shop.users, kind: external, columns: [user_id, {name: score, type: decimal}], silence: 3s}
    join: {key: user_id}
`

// newScored starts a stack with the report and this number of users.
func newScored(t *testing.T, users int, more ...string) *stack {
	t.Helper()
	s := newStackAlone(t, nil, scored, more...)
	s.Records.Exec("CREATE TABLE users (user_id INT PRIMARY KEY, name VARCHAR(20), since DATE)")
	s.Records.Exec(fmt.Sprintf("INSERT INTO users SELECT seq, CONCAT('user ', seq), '2024-01-01' FROM seq_1_to_%d", users))
	s.redisCLI(strings.TrimSpace(fenced(t, "docs/guides/external-listeners.md", "sh")[0]))
	return s
}

// service returns the URL with which the service of docs/guides/external-listeners.md connects.
func (s processes) service() string { return "redis://scores:secret@" + s.Server.Addr + "/0" }

func (s *stack) wantScores(v inspect.Job) {
	s.Helper()
	want := s.Records.Expect("user_id,name,score", "SELECT user_id, name, CAST(user_id * 1.5 AS DECIMAL(20,2)) FROM users ORDER BY user_id")
	if got := s.Files.Content(v); got != want {
		s.Errorf("%d bytes, not the %d expected: %.200q", len(got), len(want), got)
	}
}

// TestExternalListener: a service with only the documented permissions completes a task that has
// compressed values of an earlier stage. The commands show that the job waits for it.
func TestExternalListener(t *testing.T) {
	t.Parallel()
	s := newScored(t, 300, "limits: {redis_compression: zstd}")
	options, err := redis.ParseURL(s.service())
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	s.Serve(s.File)
	id := s.Records.Insert("scored", `{"from": "2024-01-01"}`)
	s.Jobs.Push(id)
	tasks, ctx := s.Partitions.First().Keys.Task("vendor.scores"), t.Context()
	s.Eventually("stage 2", func() bool { return s.Redis.XLen(ctx, tasks).Val() == 1 })
	if out, _ := s.fanfold("why", id); !strings.Contains(out, "no worker reads "+tasks) || !strings.Contains(out, "start the service that reads "+tasks) {
		t.Errorf("why says %s", out)
	}
	if out, _ := s.fanfold("doctor"); !strings.Contains(out, "it has no reader: start the service of this listener") || !strings.Contains(out, "stream fanfold:reply") {
		t.Errorf("doctor says %s", out)
	}

	streams, err := client.XReadGroup(ctx, &redis.XReadGroupArgs{Group: scripts.Group, Consumer: "c", Streams: []string{tasks, ">"}, Count: 1}).Result()
	if err != nil {
		t.Fatal(err)
	}
	entry := streams[0].Messages[0]
	job := s.Partitions.First().Keys.Job(id)
	look, err := client.HMGet(ctx, job, "job", "parameters", "shop.users:found").Result()
	if err != nil || len(look) != 3 || look[1] != `{"from":"2024-01-01"}` || look[1] != entry.Values["parameters"] ||
		!strings.HasPrefix(fmt.Sprint(look[0]), "1 RUN 2 ") || !strings.Contains(fmt.Sprint(look[2]), " chunks=1 ") {
		t.Errorf("%q: %v", look, err)
	}
	frame, err := client.HGet(ctx, job, "shop.users.user_id").Bytes()
	if err != nil {
		t.Fatal(err)
	}
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	var users []int
	if text, err := decoder.DecodeAll(frame, nil); err != nil || json.Unmarshal(text, &users) != nil || len(users) != 300 {
		t.Fatalf("%d users: %v", len(users), err)
	}
	say := func(fields ...string) {
		t.Helper()
		all := append([]string{"id", id, "attempt", "1", "listener", "vendor.scores", "worker", "w-1", "entry", entry.ID, "consumer", "c"}, fields...)
		if err := client.XAdd(ctx, &redis.XAddArgs{Stream: "fanfold:reply", Values: all}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	say("type", "alive")
	s.Eventually("it runs", func() bool {
		out, _ := s.fanfold("why", id)
		return strings.Contains(out, "it has been running for") && strings.Contains(out, "with worker w-1")
	})
	rows := make([][]any, len(users))
	for i, u := range users {
		rows[i] = []any{u, fmt.Sprintf("%.2f", float64(u)*1.5)}
	}
	text, err := json.Marshal(rows)
	if err != nil {
		t.Fatal(err)
	}
	say("type", "done", "chunks", "1")
	say("type", "rows", "number", "0", "rows", string(text))
	s.wantScores(s.Jobs.Wait(id)[0])

	for name, err := range map[string]error{
		"change a state":         client.HSet(ctx, job, "job", "1 SUCCESS").Err(),
		"change data":            client.HDel(ctx, job, "queryDoneCount").Err(),
		"read replies":           client.XRange(ctx, "fanfold:reply", "-", "+").Err(),
		"push an id":             client.XAdd(ctx, &redis.XAddArgs{Stream: "fanfold:jobs", Values: []string{"id", "1"}}).Err(),
		"read another's tasks":   client.XReadGroup(ctx, &redis.XReadGroupArgs{Group: scripts.Group, Consumer: "c", Streams: []string{"fanfold:task:other", ">"}, Block: -1}).Err(),
		"acknowledge":            client.XAck(ctx, tasks, scripts.Group, "1-1").Err(),
		"run a script":           client.Eval(ctx, "return 1", nil).Err(),
		"delete what it reads":   client.Del(ctx, tasks).Err(),
		"read the due times":     client.ZRange(ctx, "fanfold:delayed", 0, -1).Err(),
		"change the server":      client.ConfigSet(ctx, "maxmemory", "1").Err(),
		"read the timers' names": client.ZRange(ctx, "fanfold:timers", 0, -1).Err(),
	} {
		if !redis.HasErrorPrefix(err, "NOPERM") {
			t.Errorf("the service can %s: %v", name, err)
		}
	}
}

// example is a service in examples/external.
type example struct {
	name, file string
	program    func(t *testing.T, file string) []string
}

// command returns the command line of the example.
func (e example) command(t *testing.T) []string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("../../../examples/external", e.name, e.file))
	if err != nil {
		t.Fatal(err)
	}
	// go test caches results. It does not see what the program reads, so the test reads the files itself.
	if _, err := os.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	return e.program(t, file)
}

var examples = []example{
	{"python", "service.py", func(t *testing.T, file string) []string {
		// Debian's own has Debian's packages.
		for _, python := range []string{"python3", "/usr/bin/python3"} {
			if exec.Command(python, "-c", "import redis, zstandard").Run() == nil {
				return []string{python, file}
			}
		}
		t.Skip("no python3 with redis and zstandard: apt-get install python3-redis python3-zstandard")
		return nil
	}},
	{"node", "service.js", func(t *testing.T, file string) []string {
		if _, err := exec.LookPath("node"); err != nil {
			t.Skip("no node: apt-get install nodejs npm")
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(file), "node_modules", "ioredis")); err != nil {
			t.Skip("its packages are missing: npm install --prefix examples/external/node")
		}
		return []string{"node", file}
	}},
	{"go", "service.go", func(t *testing.T, file string) []string {
		program := filepath.Join(t.TempDir(), "service")
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, filepath.Dir(file)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return []string{program}
	}},
}

// TestExternalExamples runs the services of examples/external and kills them and Fanfold during
// their work.
func TestExternalExamples(t *testing.T) {
	t.Parallel()
	for _, c := range examples {
		more := "limits: {redis_compression: zstd, lease: 2s, recover_after: 1s}"
		if c.name == "node" {
			more = "limits: {lease: 2s, recover_after: 1s}" // Debian's Node has no zstd
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			command := c.command(t)
			s := newScored(t, 20_000, more)
			serve := func() *exec.Cmd {
				s.process("-c", s.File, "serve")
				return s.process("-c", s.File, "serve")
			}
			s.outlives(serve, func() *exec.Cmd { return s.example(command) })
		})
	}
}

// outlives kills an example and a process of Fanfold during their work, and Redis loses its memory. Every file is whole.
func (s *stack) outlives(serve, start func() *exec.Cmd) {
	s.Helper()
	service, fanfold := start(), serve()

	// The service is killed during a task.
	id := s.Records.Insert("scored", `{"from": "2024-01-01"}`)
	s.Jobs.Push(id)
	s.midst(id)
	kill(s, service)
	service = start()
	s.wantScores(s.Jobs.Wait(id)[0])

	// One of the processes that read its replies is killed, too.
	id = s.Records.Insert("scored", `{"from": "2024-01-01"}`)
	s.Jobs.Push(id)
	s.midst(id)
	kill(s, fanfold)
	s.wantScores(s.Jobs.Wait(id)[0])

	// Redis loses its memory: the next attempt has tasks of its own.
	id = s.Records.Insert("scored", `{"from": "2024-01-01"}`)
	s.Jobs.Push(id)
	s.midst(id)
	s.Server.FlushAll()
	s.wantScores(s.Jobs.Wait(id)[0])

	// No users match; repeated values and null; values that can never work.
	if got := s.Jobs.Succeed("scored", `{"from": "2099-01-01"}`); got != "user_id,name,score\r\n" {
		s.Errorf("nothing is %q", got)
	}
	// The service receives every value once, and no null.
	s.Records.Exec("ALTER TABLE users DROP PRIMARY KEY, MODIFY user_id INT NULL")
	s.Records.Exec("INSERT INTO users VALUES (8, 'twice', '2050-01-01'), (8, 'twice', '2050-01-01'), (NULL, 'nobody', '2050-01-01')")
	if got := s.Jobs.Succeed("scored", `{"from": "2050-01-01"}`); got != "user_id,name,score\r\n8,twice,12.00\r\n8,twice,12.00\r\n" {
		s.Errorf("repeated values are %q", got)
	}
	s.Records.Exec("UPDATE users SET since = '2101-01-01' WHERE user_id = 7")
	if v := s.Jobs.Run("scored", `{"from": "2101-01-01"}`); v.Status != report.Failed || !strings.Contains(v.Error, "no scores from 2101-01-01 on") {
		s.Errorf("%s %s", v.Status, v.Error)
	}
	if n := s.Redis.XLen(s.Context(), s.Partitions.First().Keys.Quarantined).Val(); n != 0 {
		s.Errorf("%d entries in the quarantine", n)
	}
	s.Eventually("nothing is left", func() bool {
		return s.Redis.XLen(s.Context(), s.Partitions.First().Keys.Reply).Val()+s.Redis.XLen(s.Context(), s.Partitions.First().Keys.Task("vendor.scores")).Val() == 0
	})
}

// TestExternalPartitions runs the same services with several partitions: on one Redis, where one
// call reads all streams, and on a cluster.
func TestExternalPartitions(t *testing.T) {
	t.Parallel()
	const partitions, users = 3, 50
	flags := []string{"--partitions", strconv.Itoa(partitions)}
	blocks := fenced(t, "docs/guides/external-listeners.md", "sh")
	user := strings.TrimSpace(blocks[len(blocks)-1])
	run := func(t *testing.T, s *stack, more ...string) {
		s.Records.Exec("CREATE TABLE users (user_id INT PRIMARY KEY, name VARCHAR(20), since DATE)")
		s.Records.Exec(fmt.Sprintf("INSERT INTO users SELECT seq, CONCAT('user ', seq), '2024-01-01' FROM seq_1_to_%d", users))
		s.process("-c", s.File, "serve")
		for _, c := range examples {
			t.Run(c.name, func(t *testing.T) {
				s := s.in(t)
				service := s.example(slices.Concat(c.command(t), flags, more))
				defer kill(t, service)
				var ids []string
				used := map[*scripts.Scripts]bool{}
				for range 4 * partitions {
					ids = append(ids, s.Records.Insert("scored", `{"from": "2024-01-01"}`))
					used[s.Partitions.Of(ids[len(ids)-1])] = true
				}
				if len(used) != partitions {
					t.Fatalf("the jobs are in %d partitions", len(used))
				}
				s.Jobs.Push(ids...)
				for _, v := range s.Jobs.Wait(ids...) {
					s.wantScores(v)
				}
				s.Eventually("nothing is left", func() bool {
					left := int64(0)
					for _, p := range s.Partitions {
						left += s.Redis.XLen(t.Context(), p.Keys.Reply).Val() + s.Redis.XLen(t.Context(), p.Keys.Task("vendor.scores")).Val()
					}
					return left == 0
				})
				for _, p := range s.Partitions {
					if n := s.Redis.XLen(t.Context(), p.Keys.Quarantined).Val(); n != 0 {
						t.Errorf("%d entries in the quarantine of %s", n, p.Keys.Prefix)
					}
				}
			})
		}
	}
	t.Run("one Redis", func(t *testing.T) {
		t.Parallel()
		s := newStackAlone(t, nil, scored)
		s.File = s.Divided("three.yaml", partitions, scored)
		s.Use(s.File)
		s.redisCLI(user)
		run(t, s)
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		s, cluster := newStackOnCluster(t, partitions, scored)
		s.Server.Redis = cluster.Servers[0]
		for _, server := range cluster.Servers { // each has its own users
			s.CLI = e2e.CLIOptions(server)
			s.redisCLI(user)
		}
		run(t, s, "--cluster")
	})
}

// midst waits until some of the scores exist; the others may arrive at any moment.
func (s *stack) midst(id string) {
	s.Helper()
	s.Eventually("the service is at work", func() bool {
		state, err := s.Partitions.First().Jobs.Read(s.Context(), id)
		return err == nil && (state.Tasks["vendor.scores"].Rows > 0 || state.Status != job.StatusRun && state.Stage == 2)
	})
}

// example starts a service as a process, which is killed at the end of the test.
func (s processes) example(command []string) *exec.Cmd {
	s.Helper()
	return s.run(nil, command[0], append(slices.Clone(command[1:]), s.service())...)
}

// run starts a program with additional environment variables, which is killed at the end of the test.
func (s processes) run(env []string, name string, args ...string) *exec.Cmd {
	s.Helper()
	var log strings.Builder
	c := exec.Command(name, args...)
	c.Env = append(os.Environ(), env...)
	c.Stdout, c.Stderr = &log, &log
	if err := c.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		kill(s.TB, c)
		if s.Failed() {
			s.Logf("%s: %s", name, cmp.Or(log.String(), "says nothing"))
		}
	})
	return c
}

// kill kills a process if it runs.
func kill(t testing.TB, c *exec.Cmd) {
	t.Helper()
	if c.ProcessState == nil {
		_ = c.Process.Signal(syscall.SIGKILL)
		_ = c.Wait()
	}
}
