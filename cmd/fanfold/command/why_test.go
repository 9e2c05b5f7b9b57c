package command

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/inspect/why"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// ask runs why, and every command that its answer names.
func (s commands) ask(id string, args ...string) why.Verdict {
	s.Helper()
	out, code := s.fanfold(append([]string{"why", id, "-o", "json"}, args...)...)
	var v why.Verdict
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&v); err != nil {
		s.Fatalf("%d %v %s", code, err, out)
	}
	if want := map[why.Kind]int{why.KindNoRecord: exitNotFound}[v.Kind]; code != want {
		s.Errorf("%s: exit code %d, not %d", v.Kind, code, want)
	}
	return v
}

// because polls until the answer for an id is of this kind, and checks that it has these words.
func (s commands) because(id string, want why.Kind, words ...string) why.Verdict {
	s.Helper()
	var v why.Verdict
	s.Eventually(fmt.Sprintf("%s is %s, with %q", id, want, words), func() bool {
		v = s.ask(id)
		whole, _ := json.Marshal(v)
		return v.Kind == want && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(string(whole), w) })
	})
	text, _ := s.fanfold("why", id)
	if v.Summary == "" || len(v.Commands) == 0 || !strings.Contains(text, "See for yourself:") {
		s.Errorf("%s:\n%s", want, text)
	}
	for _, line := range v.Commands {
		s.redisCLI(line)
	}
	return v
}

// TestWhyBeforeTheStart: why distinguishes the reasons why an id has not started.
func TestWhyBeforeTheStart(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow, "limits: {lease: 1s, recover_after: 1h, running_jobs: 3}")
	ctx, sc := t.Context(), s.Partitions.First()
	in := func(d time.Duration) float64 { return float64(time.Now().Add(d).UnixMilli()) }

	id := s.Records.Insert("slow", "")
	s.because(id, why.KindNotPushed, "was not pushed", "fanfold submit "+id)
	s.Redis.ZAdd(ctx, sc.Keys.Delayed, redis.Z{Score: in(time.Hour), Member: id})
	if v := s.because(id, why.KindDelayed, "pushed for later"); len(v.Upcoming) != 1 {
		t.Errorf("%+v", v)
	}
	s.Redis.ZAdd(ctx, sc.Keys.Delayed, redis.Z{Score: in(-time.Hour), Member: id})
	s.because(id, why.KindNoScheduler, "no scheduler has moved it")
	s.Redis.ZRem(ctx, sc.Keys.Delayed, id)

	s.Redis.ZAdd(ctx, sc.Keys.Delayed, redis.Z{Score: in(20 * time.Second), Member: "99999/3/@trigger"})
	s.because("99999", why.KindPolling, "poll 3 of 3", "no such record")
	s.because("88888", why.KindNoRecord)
	if err := sc.Streams.Quarantine(ctx, sc.Keys.Jobs, "1-1", map[string]string{"id": "77777"}, "nobody knows it"); err != nil {
		t.Fatal(err)
	}
	s.because("77777", why.KindQuarantined, "nobody knows it")
	s.Redis.ZAdd(ctx, sc.Keys.Delayed, redis.Z{Score: in(time.Hour), Member: "66666/1/no/step"})

	before := s.Records.Insert("slow", "")
	s.Jobs.Push(before, id)
	s.because(id, why.KindNoWorker, "behind 1 other", "--roles engine")
	s.Redis.XGroupCreate(ctx, sc.Keys.Jobs, scripts.Group, "0")
	s.Redis.XGroupCreateConsumer(ctx, sc.Keys.Jobs, scripts.Group, "busy")
	s.because(id, why.KindQueued, "behind 1 other", "limits.running_jobs is 3")
	for i := range 3 {
		s.Redis.ZAdd(ctx, sc.Keys.Deadlines, redis.Z{Score: in(time.Hour), Member: fmt.Sprint("other-", i)})
	}
	s.Redis.XGroupCreateConsumer(ctx, sc.Keys.Jobs, scripts.Group, "busy too")
	s.because(id, why.KindNoRoom, "3 jobs run")
	if err := s.Redis.XReadGroup(ctx, &redis.XReadGroupArgs{Group: scripts.Group, Consumer: "ghost", Streams: []string{sc.Keys.Jobs, ">"}}).Err(); err != nil {
		t.Fatal(err)
	}
	s.because(id, why.KindWorkerDead, "ghost")

	s.Records.Exec("UPDATE file_download_record SET status = 'PROCESSING', attempt = 3 WHERE id = ?", id)
	s.Redis.Del(ctx, sc.Keys.Jobs)
	if v := s.because(id, why.KindStateless, "no state of attempt 3"); len(v.Upcoming) != 1 {
		t.Errorf("%+v", v)
	}
	s.Redis.Set(ctx, sc.Keys.Job(id), "something else", 0)
	s.Redis.Set(ctx, sc.Keys.Job(before), "something else", 0)
	if v := s.ask(id); v.Kind != why.KindBrokenState {
		t.Errorf("%+v", v)
	}
	s.Redis.Del(ctx, sc.Keys.Job(id))
	if _, err := sc.Jobs.Start(ctx, "", scripts.Start{ID: id, Attempt: 4, Plan: scripts.Plan{Report: "slow", Definition: "x", Timeout: time.Hour, Listeners: "one"}}); err != nil {
		t.Fatal(err)
	}
	s.because(id, why.KindSuperseded, "attempt 4")

	s.Records.Exec("UPDATE file_download_record SET status = 'FAILED', error = 'the story' WHERE id = ?", id)
	s.Redis.ZAdd(ctx, sc.Keys.Dead, redis.Z{Score: in(-time.Hour), Member: id})
	s.because(id, why.KindEnded, "the story", "fanfold retry "+id, "on the list of dead jobs")
	s.Records.Exec("UPDATE file_download_record SET status = 'SUCCESS', file = 'file:///x.csv' WHERE id = ?", id)
	s.because(id, why.KindEnded, "file:///x.csv")
	s.Records.Exec("UPDATE file_download_record SET status = 'CANCELLED' WHERE id = ?", id)
	s.because(id, why.KindEnded, "cancelled")

	stranger := s.Records.Insert("unheard-of", "")
	s.because(stranger, why.KindUnknownReport, "unheard-of")
	if _, code := s.fanfold("why", "no id"); code != exitUsage {
		t.Errorf("exit code %d", code)
	}
}

// twoListeners is a report with a quick and a slow listener.
const twoListeners = `
  two:
    timeout: 1h
    listeners: {
      quick: {database: db, query: "SELECT 1 AS k"},
      lazy.one: {database: db, query: "SELECT 1 AS k, SLEEP(60) AS v"}}
    join: {key: k}
`

// TestWhyAJobRuns: why says what a running job waits for.
func TestWhyAJobRuns(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, nil, twoListeners, "limits: {lease: 1s, running_jobs: 1, shutdown_timeout: 1s}")
	id, next := s.Records.Insert("two", ""), s.Records.Insert("two", "")
	s.process("-c", s.File, "serve", "--roles", "engine,scheduler")
	s.Jobs.Push(id)
	s.Eventually("the job has started", func() bool { return s.ask(id).Job == job.StatusRun })
	s.because(id, why.KindNoWorker, s.Partitions.First().Keys.Task(""), "--roles listeners")
	worker := s.process("-c", s.File, "serve", "--roles", "listeners")
	v := s.because(id, why.KindBarrier, "1 of 2 listeners are done", "its query has been running for")
	if len(v.Steps) != 1 || v.Steps[0].Name != "lazy.one" || v.Steps[0].Owner == "" || v.Steps[0].Since.IsZero() || v.Steps[0].Try != 1 || len(v.Upcoming) != 2 {
		t.Errorf("%+v", v)
	}
	s.Jobs.Push(next)
	s.because(next, why.KindNoRoom, "1 job runs")
	if err := worker.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = worker.Wait()
	s.because(id, why.KindWorkerDead, "and is dead: its lease ended", v.Steps[0].Owner)
	// First no worker can take over; then one starts and does.
	s.Eventually("nobody reads", func() bool { return len(s.ask(id).Remedies) == 1 })
	s.process("-c", s.File, "serve", "--roles", "listeners")
	if v := s.because(id, why.KindBarrier, "fell silent"); v.Steps[0].Try != 2 {
		t.Errorf("%+v", v)
	}
	away := s.away("away.yaml", "tcp(")
	if v := s.ask(id, "-c", away); v.Kind != why.KindRecordsAway || len(v.Steps) != 1 || !strings.Contains(v.Details[0], "According to Redis") {
		t.Errorf("%+v", v)
	}
	if v := s.ask(id, "-c", s.away("redis.yaml", "redis://")); v.Kind != why.KindRedisAway || len(v.Commands) != 1 {
		t.Errorf("%+v", v)
	}
}

// away writes a configuration in which the server whose address follows the prefix does not exist.
func (s commands) away(name, prefix string) string {
	s.Helper()
	text, err := os.ReadFile(s.File)
	if err != nil {
		s.Fatal(err)
	}
	head, tail, ok := strings.Cut(string(text), prefix)
	end := strings.IndexAny(tail, ")/\n")
	if !ok || end < 0 {
		s.Fatalf("no %s in %s", prefix, text)
	}
	file := s.Dir + "/" + name
	if err := os.WriteFile(file, []byte(head+prefix+"127.0.0.1:1"+tail[end:]), 0o600); err != nil {
		s.Fatal(err)
	}
	return file
}

// TestWhyAStepWaits: why reports steps that failed and messages that were lost.
func TestWhyAStepWaits(t *testing.T) {
	t.Parallel()
	s := newStack(t, twoListeners, "limits: {lease: 1s}")
	ctx, sc := t.Context(), s.Partitions.First()
	id := s.Records.Insert("two", "")
	s.Records.Exec("UPDATE file_download_record SET status = 'PROCESSING', attempt = 1 WHERE id = ?", id)
	hash := s.Config.Reports["two"].Hash()
	if _, err := sc.Jobs.Start(ctx, "", scripts.Start{ID: id, Attempt: 1, Plan: scripts.Plan{Report: "two", Definition: hash, Timeout: time.Hour, Listeners: "quick,lazy.one"}}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"quick", "lazy.one"} {
		s.Redis.XGroupCreate(ctx, sc.Keys.Task(name), scripts.Group, "0")
		if err := s.Redis.XReadGroup(ctx, &redis.XReadGroupArgs{Group: scripts.Group, Consumer: "ghost", Streams: []string{sc.Keys.Task(name), ">"}}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	s.Eventually("the worker is silent", func() bool { return s.ask(id).Kind == why.KindWorkerDead })
	s.because(id, why.KindWorkerDead, "worker ghost took it")
	take := func(name string) *scripts.Task {
		t.Helper()
		entry := s.Redis.XRange(ctx, sc.Keys.Task(name), "-", "+").Val()[0]
		task, _ := sc.Tasks.New(scripts.Message{ID: id, Attempt: 1}, name, scripts.Entry{Stream: sc.Keys.Task(name), Consumer: "w", ID: entry.ID})
		if outcome, err := task.Take(ctx, scripts.Take{Owner: "w/1", Known: []string{hash}}); err != nil || outcome != scripts.OK {
			t.Fatal(outcome, err)
		}
		return task
	}
	quick := take("quick")
	chunk := scripts.Chunk{Rows: 1, Names: []string{"k"}, Fields: [][]byte{[]byte("[1]")}, Columns: []map[string]string{{"name": "k", "type": "integer"}}}
	if _, err := quick.Complete(ctx, chunk, 0); err != nil {
		t.Fatal(err)
	}
	lazy := take("lazy.one")
	s.Eventually("the worker is alive", func() bool {
		if kept, err := lazy.Renew(ctx); err != nil || kept != scripts.OK {
			t.Fatal(kept, err)
		}
		return s.ask(id).Kind == why.KindBarrier
	})
	if _, err := lazy.Requeue(ctx, scripts.Requeue{Delay: time.Hour, Counts: true, Error: "deadlock found"}); err != nil {
		t.Fatal(err)
	}
	s.Redis.Del(ctx, sc.Keys.Task("lazy.one"))
	v := s.because(id, why.KindRetryWaiting, "deadlock found", "is tried again in 1h", "fanfold delay run "+id)
	if v.Steps[0].Try != 2 || v.Steps[0].Next.IsZero() || len(v.Upcoming) != 2 {
		t.Errorf("%+v", v)
	}
	member := id + "/1/lazy.one"
	s.Redis.ZAdd(ctx, sc.Keys.Delayed, redis.Z{Score: float64(time.Now().Add(-time.Minute).UnixMilli()), Member: member})
	s.because(id, why.KindNoScheduler, "no scheduler has moved it")
	s.Redis.ZRem(ctx, sc.Keys.Delayed, member)
	s.Redis.HDel(ctx, sc.Keys.Job(id), "lazy.one:next")
	s.Redis.XGroupCreateMkStream(ctx, sc.Keys.Task("lazy.one"), scripts.Group, "0")
	s.because(id, why.KindNoWorker)
	s.Redis.XGroupCreateConsumer(ctx, sc.Keys.Task("lazy.one"), scripts.Group, "alive")
	v = s.because(id, why.KindLost, "Redis has lost the message")
	s.redisCLI(strings.Split(v.Remedies[0], " sends it")[0])
	s.Redis.XGroupCreateConsumer(ctx, sc.Keys.Task("lazy.one"), scripts.Group, "alive too")
	s.because(id, why.KindQueued, "0 tasks are ahead of it")
	s.States.Set(id, 4, "1")
	s.because(id, why.KindNoScheduler, "no scheduler has failed it")
}

// TestWhyTheSinkFails: why reports a sink that rejects files, and a listener whose database is
// down.
func TestWhyTheSinkFails(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow+`
  source:
    listeners: {far: {database: gone, query: "SELECT 1 AS k"}}
`, `databases: {db: {dsn: "{dsn}"}, gone: {dsn: "root@tcp(127.0.0.1:1)/x"}}`)
	s.Serve(s.File)
	away := s.Records.Insert("source", "")
	s.Jobs.Push(away)
	s.because(away, why.KindSourceAway, "database gone does not answer from here")
	if err := os.MkdirAll(s.Dir+"/files", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(s.Dir + "/files/slow"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.Dir+"/files/slow", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	id := s.Records.Insert("slow", "")
	s.Jobs.Push(id)
	if v := s.because(id, why.KindSinkFails, "It waits for fan-in: it failed and is tried again", "fanfold doctor"); v.Steps[0].Error == "" {
		t.Errorf("%+v", v)
	}
}
