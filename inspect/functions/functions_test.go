package functions

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

func TestMain(m *testing.M) { testmain.Main(m) }

// start starts a server whose functions are this test's own.
func start(t *testing.T) (*testenv.Redis, *redis.Client) {
	t.Helper()
	server, err := testenv.StartRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	client := server.Client()
	t.Cleanup(func() { _ = client.Close() })
	return server, client
}

// loader makes a Loader for partitions, and the log that it writes.
func loader(client redis.UniversalClient, all ...report.Keys) (*Loader, *bytes.Buffer) {
	var partitions scripts.Partitions
	for _, k := range all {
		partitions = append(partitions, scripts.New(scripts.Options{Redis: client, Keys: scripts.Keys(k), Home: scripts.Keys(all[0])}))
	}
	r := &report.Report{Name: "r", Stages: []report.Stage{{Listeners: []report.Listener{{Name: "a"}, {Name: "b"}}}}}
	limits := report.Limits{RunningJobs: 100, Grace: time.Minute, Lease: time.Hour, Memory: 80}
	var log bytes.Buffer
	return New(Options{
		Redis: client, Partitions: partitions, Config: inspect.Config{Reports: map[string]*report.Report{"r": r}, Limits: limits},
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	}), &log
}

// lines is what a function says.
func lines(t *testing.T, client redis.UniversalClient, function, key string, args ...any) []string {
	t.Helper()
	found, err := client.FCallRO(t.Context(), function, []string{key}, args...).StringSlice()
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// run makes a job that runs, with its entry for listener b.
func run(t *testing.T, client redis.UniversalClient, k report.Keys, id string) {
	t.Helper()
	now := time.Now()
	_, err := client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		p.HSet(t.Context(), k.Hash+id, "job", fmt.Sprintf("1 RUN 1 0 %d 1/2 0 |b| %d %d r/x/y", now.Add(time.Hour).UnixMilli(), now.Add(time.Hour).UnixMilli(), now.UnixMilli()), "listeners", "a,b")
		p.ZAdd(t.Context(), k.Prefix+"deadlines", redis.Z{Score: float64(now.Add(time.Hour).UnixMilli()), Member: id})
		p.XAdd(t.Context(), &redis.XAddArgs{Stream: k.Prefix + "task:b", Values: []any{"id", id, "attempt", 1}})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

var update = flag.Bool("update", false, "write testdata/version")

// TestVersion: servers keep a library until they are given a higher version, so a source that has
// changed needs one.
func TestVersion(t *testing.T) {
	t.Parallel()
	const file = "testdata/version"
	got := fmt.Sprintf("%d %x\n", Version, sha256.Sum256([]byte(Source())))
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != got {
		t.Errorf("the library has changed: add 1 to Version, and run this test with -update (%v)\n%s%s", err, want, got)
	}
}

// TestVersionsRunAtOnce: a newer library replaces an older one, and an older one nothing.
func TestVersionsRunAtOnce(t *testing.T) {
	t.Parallel()
	_, client := start(t)
	for _, step := range []struct{ load, has int }{{5, 5}, {4, 5}, {6, 6}, {5, 6}, {6, 6}} {
		source := strings.Replace(Source(), fmt.Sprintf("local VERSION = %d\n", Version), fmt.Sprintf("local VERSION = %d\n", step.load), 1)
		if err := load(t.Context(), client, step.load, source); err != nil {
			t.Fatal(err)
		}
		if has, err := Loaded(t.Context(), client); err != nil || has != step.has {
			t.Errorf("after %d the server has %d: %v", step.load, has, err)
		}
	}
}

// TestConfiguration is that of the process that was started last, and comes back where Redis has
// lost it.
func TestConfiguration(t *testing.T) {
	t.Parallel()
	_, client := start(t)
	first, log := loader(client, report.DefaultKeys)
	second, _ := loader(client, report.DefaultKeys)
	second.o.Config.Limits.RunningJobs = 7
	says := func(want string) {
		t.Helper()
		if got := lines(t, client, "fanfold_top", "fanfold:deadlines"); got[0] != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	first.Once(t.Context())
	says("0 jobs run; limits.running_jobs is 100.")
	second.Once(t.Context())
	first.Once(t.Context())
	says("0 jobs run; limits.running_jobs is 7.")
	client.FlushAll(t.Context())
	first.Once(t.Context())
	says("0 jobs run; limits.running_jobs is 100.")
	if log.Len() > 0 {
		t.Error(log)
	}
}

// TestRefused: a server that refuses functions is told of once, and nothing is written to it.
func TestRefused(t *testing.T) {
	t.Parallel()
	server, admin := start(t)
	admin.Do(t.Context(), "ACL", "SETUSER", "plain", "on", ">p", "~*", "+@all", "-function")
	client := redis.NewClient(&redis.Options{Addr: server.Addr, Username: "plain", Password: "p", DisableIdentity: true})
	defer client.Close()
	l, log := loader(client, report.DefaultKeys)
	l.Once(t.Context())
	l.Once(t.Context())
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "level=INFO") || !strings.Contains(text, "NOPERM") {
		t.Errorf("the log has %q", text)
	}
	if n := admin.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys", n)
	}
}

// TestReader: a user that may only read gets answers, and wrong calls say what is right.
func TestReader(t *testing.T) {
	t.Parallel()
	server, admin := start(t)
	l, _ := loader(admin, report.DefaultKeys)
	l.Once(t.Context())
	run(t, admin, report.DefaultKeys, "1")
	if err := admin.Do(t.Context(), "ACL", "SETUSER", "reader", "on", ">p", "resetkeys", "resetchannels", "nocommands", "+fcall_ro", "+@read", "+time", "%R~fanfold:*", "%R~FileDownloadRecordEntity-*").Err(); err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{Addr: server.Addr, Username: "reader", Password: "p", DisableIdentity: true})
	defer client.Close()
	if got := lines(t, client, "fanfold_why", "fanfold:deadlines", "1"); !strings.HasPrefix(got[0], "It waits for b: no worker reads fanfold:task:b, which has 1 entry") {
		t.Errorf("%q", got)
	}
	for want, args := range map[string][]any{
		"NOKEY":    {"fanfold_why", 1, "fanfold:jobs", "1"},
		"NOID":     {"fanfold_why", 1, "fanfold:deadlines", "1 2"},
		"NOID one": {"fanfold_why", 1, "fanfold:deadlines"},
		"NOCONFIG": {"fanfold_top", 1, "fanfold:x:deadlines"},
		"NOARGS":   {"fanfold_top", 1, "fanfold:deadlines", "1"},
	} {
		err := client.Do(t.Context(), append([]any{"FCALL_RO"}, args...)...).Err()
		if code, _, _ := strings.Cut(want, " "); err == nil || !strings.HasPrefix(err.Error(), code+" ") {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// TestTop lists the jobs that fail first, and no more than it may.
func TestTop(t *testing.T) {
	t.Parallel()
	_, client := start(t)
	l, _ := loader(client, report.DefaultKeys)
	l.Once(t.Context())
	for i := range maxJobs + 3 {
		run(t, client, report.DefaultKeys, fmt.Sprint(100+i))
	}
	client.ZAdd(t.Context(), "fanfold:deadlines", redis.Z{Score: 1, Member: "lost"})
	got := lines(t, client, "fanfold_top", "fanfold:deadlines")
	if len(got) != 2+maxJobs || got[0] != "54 jobs run; limits.running_jobs is 100." || got[len(got)-1] != "... and 4 more" {
		t.Errorf("%d: %q", len(got), got)
	}
	if !strings.HasPrefix(got[1], "lost  Redis has no job of lost") || !strings.HasPrefix(got[2], "100  r  attempt 1  RUN 1/2  deadline in ") || !strings.Contains(got[2], "   It waits for b: no worker reads") {
		t.Errorf("%q", got[1:3])
	}
}

// TestTopReadsTheQuarantineOnce, however many ids have no job.
func TestTopReadsTheQuarantineOnce(t *testing.T) {
	t.Parallel()
	_, client := start(t)
	l, _ := loader(client, report.DefaultKeys)
	l.Once(t.Context())
	for _, id := range []string{"1", "2", "3"} {
		client.ZAdd(t.Context(), "fanfold:deadlines", redis.Z{Score: 1, Member: id})
	}
	for _, fields := range []string{"id=2", "x=1 member=3/2/@trigger y=1", "id=11 member=1x member=21/1 id=", "id=2 member=2"} {
		client.XAdd(t.Context(), &redis.XAddArgs{Stream: "fanfold:quarantine", Values: []any{"reason", "odd", "stream", "fanfold:jobs", "fields", fields}})
	}
	got := lines(t, client, "fanfold_top", "fanfold:deadlines")
	for i, aside := range []bool{1: false, 2: true, 3: true} {
		if i > 0 && strings.HasPrefix(got[i], fmt.Sprint(i)+"  It was quarantined ") != aside {
			t.Errorf("%q", got[i])
		}
	}
	info, err := client.InfoMap(t.Context(), "commandstats").Result()
	if calls := info["Commandstats"]["cmdstat_xrevrange"]; err != nil || !strings.HasPrefix(calls, "calls=1,") {
		t.Errorf("%s, %v", calls, err)
	}
}

// TestIDsWithoutJob: what Redis alone knows of an id that has no job in it.
func TestIDsWithoutJob(t *testing.T) {
	t.Parallel()
	_, client := start(t)
	l, _ := loader(client, report.DefaultKeys)
	l.Once(t.Context())
	for id, c := range map[string]struct {
		do    []any
		ahead int // ids that are in the stream of jobs before
		says  string
	}{
		"1": {[]any{"ZADD", "fanfold:dead", 1, "1"}, 0, "It has failed."},
		"2": {[]any{"SET", "FileDownloadRecordEntity-2:ended", "3 CANCELLED r/x/y a:1:1 by\x1b\u009b\u202e\n{hand}ü"}, 0, "Its job has ended as CANCELLED: by    {hand}ü"},
		"3": {[]any{"ZADD", "fanfold:waiting:r", 1, "3"}, 0, "Its report r has been paused since 1970-01-01 00:00:00 +00:00."},
		"4": {[]any{"XADD", "fanfold:jobs", "*", "id", "4"}, 1, "It waits in fanfold:jobs behind 1 other, and no process reads"},
		"5": {[]any{"XADD", "fanfold:jobs", "*", "id", "5"}, 2, "It waits in fanfold:jobs behind 2 others, and no process reads"},
		"6": {[]any{"XADD", "fanfold:quarantine", "*", "reason", "odd", "fields", "id=6"}, 0, "It was quarantined "},
		"7": {[]any{"DEL", "fanfold:dead"}, 0, "Redis has no job of 7, and the id is not queued"},
	} {
		client.FlushDB(t.Context())
		l.written = false
		l.Once(t.Context())
		client.ZAdd(t.Context(), "fanfold:paused", redis.Z{Score: 1, Member: "report/r"})
		for range c.ahead {
			client.XAdd(t.Context(), &redis.XAddArgs{Stream: "fanfold:jobs", Values: []any{"id", "0"}})
		}
		if err := client.Do(t.Context(), c.do...).Err(); err != nil {
			t.Fatal(err)
		}
		if got := lines(t, client, "fanfold_why", "fanfold:deadlines", id); !strings.HasPrefix(got[0], c.says) {
			t.Errorf("%v: %q, not %q", c.do, got, c.says)
		}
	}
}

// TestALongStreamIsNotReadToItsEnd: what a call costs does not grow with a backlog.
func TestALongStreamIsNotReadToItsEnd(t *testing.T) {
	t.Parallel()
	_, client := start(t)
	l, _ := loader(client, report.DefaultKeys)
	l.Once(t.Context())
	_, err := client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for range maxEntries {
			p.XAdd(t.Context(), &redis.XAddArgs{Stream: "fanfold:task:b", Values: []any{"id", "0", "attempt", 1}})
			p.XAdd(t.Context(), &redis.XAddArgs{Stream: "fanfold:jobs", Values: []any{"id", "0"}})
		}
		p.XGroupCreate(t.Context(), "fanfold:task:b", scripts.Group, "0")
		p.XGroupCreateConsumer(t.Context(), "fanfold:task:b", scripts.Group, "w")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	run(t, client, report.DefaultKeys, "1")
	for id, want := range map[string]string{
		"1": "It waits for b: at least 500 tasks are ahead of it in fanfold:task:b",
		"2": "Redis has no job of 2, and the id is not among the oldest 500 entries of fanfold:jobs.",
	} {
		if got := lines(t, client, "fanfold_why", "fanfold:deadlines", id); got[0] != want {
			t.Errorf("%q", got)
		}
	}
}

// TestWordsOfTimes are written as Go writes them.
func TestWordsOfTimes(t *testing.T) {
	t.Parallel()
	client := testmain.SharedRedis(t).Client()
	defer client.Close()
	source, err := files.ReadFile("lua/words.lua")
	if err != nil {
		t.Fatal(err)
	}
	var args []any
	var want []string
	for n := int64(1); n < 1e13; n = n*2 + 37 {
		args = append(args, n)
		d, at := time.Duration(n)*time.Millisecond, time.UnixMilli(n).UTC()
		want = append(want, words.Short(d)+" "+at.Format("2006-01-02 15:04:05 -07:00"))
	}
	for _, day := range []string{"2000-02-29", "2023-12-31", "2024-02-29", "2024-03-01", "2100-02-28", "2100-03-01"} {
		at, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		args, want = append(args, at.UnixMilli()), append(want, words.Short(time.Duration(at.UnixMilli())*time.Millisecond)+" "+at.Format("2006-01-02 15:04:05 -07:00"))
	}
	got, err := client.Eval(t.Context(), fmt.Sprintf("local HORIZON = %d\n", scripts.Horizon.Milliseconds())+string(source)+`
		local said = {}
		for i, n in ipairs(ARGV) do said[i] = short(tonumber(n)) .. ' ' .. stamp(tonumber(n)) end
		return said`, nil, args...).StringSlice()
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%v: %q, not %q", args[i], got[i], want[i])
		}
	}
}

// TestCluster has the library on every master, and each partition answers from its own slot.
func TestCluster(t *testing.T) {
	t.Parallel()
	all := report.DefaultKeys.Partitions(report.Redis{Partitions: 3, Cluster: []string{"x"}})
	var keys []string
	for _, k := range all {
		keys = append(keys, k.Prefix)
	}
	cluster, err := testenv.StartMasters(t.Context(), t.TempDir(), 3, keys...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Stop)
	client := cluster.Client()
	t.Cleanup(func() { _ = client.Close() })
	l, log := loader(client, all...)
	l.Once(t.Context())
	for i, k := range all {
		id := "100"
		run(t, client, k, id)
		if got := lines(t, client, "fanfold_why", k.Prefix+"deadlines", id); !strings.Contains(got[0], "no worker reads "+k.Prefix+"task:b") {
			t.Errorf("partition %d: %q", i, got)
		}
		if got := lines(t, client, "fanfold_top", k.Prefix+"deadlines"); len(got) != 2 {
			t.Errorf("partition %d: %q", i, got)
		}
	}
	if log.Len() > 0 {
		t.Error(log)
	}
}
