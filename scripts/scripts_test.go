package scripts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

func TestMain(m *testing.M) { testmain.Main(m) }

// newScripts returns Scripts on keys of the test's own, and their client.
func newScripts(t testing.TB) (*Scripts, *redis.Client) {
	t.Helper()
	client := testmain.SharedRedis(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	name := testmain.Name(t)
	return New(Options{Redis: client, Keys: report.Keys{Prefix: name + ":", Hash: name + "-"}}), client
}

// attempt is what starts attempt 1 of a job.
func attempt(id string, timeout time.Duration, listeners string) Start {
	return Start{ID: id, Attempt: 1, Parameters: []byte("{}"), Plan: Plan{Report: "r", Definition: "d", Timeout: timeout, Listeners: listeners}}
}

// started starts attempt 1 of a job.
func started(t testing.TB, s *Scripts, id string, timeout time.Duration, listeners string) {
	t.Helper()
	outcomes, err := s.Jobs.Start(t.Context(), "", attempt(id, timeout, listeners))
	if err != nil || outcomes[0] != OK {
		t.Fatal(outcomes, err)
	}
}

// read gives the next entry of a stream to a consumer; ok is false if there is none.
func read(t testing.TB, s *Scripts, stream, consumer string) (e Entry, fields map[string]string, ok bool) {
	t.Helper()
	ctx := t.Context()
	if err := s.rdb.XGroupCreateMkStream(ctx, stream, Group, "0").Err(); err != nil && !strings.HasPrefix(err.Error(), "BUSYGROUP") {
		t.Fatal(err)
	}
	found, err := s.rdb.XReadGroup(ctx, &redis.XReadGroupArgs{Group: Group, Consumer: consumer, Streams: []string{stream, ">"}, Count: 1, Block: -1}).Result()
	if errors.Is(err, redis.Nil) {
		return e, nil, false
	} else if err != nil {
		t.Fatal(err)
	}
	fields = map[string]string{}
	for name, value := range found[0].Messages[0].Values {
		fields[name], _ = value.(string)
	}
	return Entry{Stream: stream, Consumer: consumer, ID: found[0].Messages[0].ID, Fields: fields}, fields, true
}

// firstTask reads a task that is delivered for the first time.
func firstTask(t testing.TB, s *Scripts, listener, consumer string) *Task {
	t.Helper()
	entry, fields, ok := read(t, s, s.Keys.Task(listener), consumer)
	m, valid := entry.Message()
	task, first := s.Tasks.New(m, listener, entry)
	if !ok || !valid || !first {
		t.Fatalf("no first delivery: %+v", fields)
	}
	return task
}

// takenOver is a task whose worker has fallen silent, as the consumer of that name takes
// it over.
func takenOver(t testing.TB, s *Scripts, from *Task, consumer string) *Task {
	t.Helper()
	e := from.Entry
	e.Consumer = consumer
	if err := s.rdb.XClaimJustID(t.Context(), &redis.XClaimArgs{Stream: e.Stream, Group: Group, Consumer: consumer, Messages: []string{e.ID}}).Err(); err != nil {
		t.Fatal(err)
	}
	task, _ := s.Tasks.New(from.Message, from.Listener, e)
	if outcome, err := task.Take(t.Context(), Take{Owner: consumer, Known: []string{"d"}, Redelivered: true}); err != nil || outcome != OK {
		t.Fatal(outcome, err)
	}
	return task
}

// chunkOf is a chunk of one column: values are separated by commas.
func chunkOf(number int64, values string) Chunk {
	return Chunk{
		Number: number, Rows: int64(strings.Count(values, ",") + 1), Names: []string{"c"},
		Columns: []map[string]string{{"name": "c", "type": "integer"}}, Fields: [][]byte{[]byte("[" + values + "]")},
	}
}

var _ dataset.Store = Chunks{}

// segmentOf is a segment whose word in the ticket is chunks,rows,bytes,checksum.
func segmentOf(at string, number int64, text string) Segment {
	s := Segment{Number: number, At: at, Text: text, Columns: chunkOf(0, "1").Columns}
	_, _ = fmt.Sscanf(text, "%d,%d,%d,", &s.Chunks, &s.Rows, &s.Bytes)
	return s
}

// ready starts a job of one listener, l, and completes it.
func ready(t testing.TB, s *Scripts, id string, timeout time.Duration) {
	t.Helper()
	started(t, s, id, timeout, "l")
	if outcome, err := firstTask(t, s, "l", "w").Complete(t.Context(), chunkOf(0, "1"), time.Millisecond); err != nil || outcome != Already {
		t.Fatal(outcome, err)
	}
}

// claimed claims a job, whatever its stage.
func claimed(t testing.TB, s *Scripts, id, worker string, want Outcome) *Fold {
	t.Helper()
	outcome, fold, err := s.Folds.Claim(t.Context(), Claim{Message: Message{id, 1}, Worker: worker, Known: []string{"d"}})
	if err != nil || outcome != want {
		t.Fatal(outcome, err)
	}
	return fold
}

// pending is how many entries of a stream exist, and how many of them are pending.
func pending(t testing.TB, s *Scripts, stream string) (entries, pending int64) {
	t.Helper()
	entries, err := s.rdb.XLen(t.Context(), stream).Result()
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.rdb.XPending(t.Context(), stream, Group).Result()
	if err != nil {
		t.Fatal(err)
	}
	return entries, p.Count
}

// TestEveryScriptIsCalled by the name of its file, and no other name is.
func TestEveryScriptIsCalled(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	called := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?:\bcall\(ctx, |\.store\(ctx, |script :?= )"(\w+)"`).FindAllStringSubmatch(string(text), -1) {
			if called[m[1]] = true; named[m[1]] == nil {
				t.Errorf("%s calls %s, which is no file of lua", file, m[1])
			}
		}
	}
	for name := range named {
		if !called[name] {
			t.Errorf("nothing calls lua/%s.lua", name)
		}
	}
}

// refusing is a server that refuses the first line of scripts, as Dragonfly does.
type refusing struct{ redis.Hook }

type refusal struct{}

func (refusal) Error() string { return "ERR unexpected symbol near '#'" }
func (refusal) RedisError()   {}

func (refusing) DialHook(next redis.DialHook) redis.DialHook { return next }
func (refusing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		for _, arg := range cmd.Args() {
			if text, ok := arg.(string); ok && strings.HasPrefix(text, "#!lua") {
				cmd.SetErr(refusal{})
				return refusal{}
			}
		}
		return next(ctx, cmd)
	}
}

func (refusing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// TestScriptsWithoutTheirFirstLine run on a server that refuses it, also after it forgot them.
func TestScriptsWithoutTheirFirstLine(t *testing.T) {
	t.Parallel()
	server, err := testenv.StartRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	client := server.Client()
	t.Cleanup(func() { _ = client.Close() })
	client.AddHook(refusing{})
	s := New(Options{Redis: client})
	started(t, s, "1", time.Hour, "l") // nobody has loaded them
	if !s.Plain() {
		t.Error("the first line is not known to be refused")
	}
	client.ScriptFlush(t.Context())
	s = New(Options{Redis: client})
	if err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if outcome, err := firstTask(t, s, "l", "w").Complete(t.Context(), chunkOf(0, "1"), 0); outcome != Already || err != nil {
		t.Fatal(outcome, err)
	}
	if state, err := s.Jobs.Read(t.Context(), "1"); err != nil || state.Status != job.StatusReady {
		t.Errorf("%+v %v", state, err)
	}
}

// TestScriptsAreLua54 as well: servers that are no Redis run them in a newer Lua.
func TestScriptsAreLua54(t *testing.T) {
	t.Parallel()
	for name, s := range named {
		c := exec.CommandContext(t.Context(), "luac5.4", "-p", "-")
		c.Stdin = strings.NewReader(s.plain)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s: %v %s (luac5.4 is in the package lua5.4)", name, err, out)
		}
	}
}
