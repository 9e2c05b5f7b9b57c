package scripts

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/group"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/scripts/job"
)

// together runs calls of Complete at the same time: the first round trip waits until all
// of them are queued.
func together(t testing.TB, s *Scripts, n int, f func(i int)) {
	t.Helper()
	usual, queued := s.completes, make(chan struct{})
	s.completes = group.New(maxCompletions, func(batches iter.Seq[[]*completion]) {
		<-queued
		s.Tasks.completeAll(batches)
	})
	defer func() { s.completes = usual }()
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() { f(i) })
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for s.completes.Waiting() < n {
		<-tick.C
	}
	close(queued)
	calls.Wait()
}

// TestABatchHarmsNoOther: a key of another type, a line that is not a state and a job that
// is lost have their own outcome, and every other job has its effect.
func TestABatchHarmsNoOther(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	const n, bad, garbage, lost, tombstone = 3*batchJobs + 1, 5, 70, 71, 150
	id := func(i int) string { return fmt.Sprint("job-", i) }
	one := func(i int) string { return s.Keys.Job(id(i)) }
	other := func(key string) { // of another type
		client.Del(ctx, key)
		client.SAdd(ctx, key, "x")
	}
	check := func(what string, outcomes []Outcome, err error, want map[int]Outcome) {
		t.Helper()
		if err != nil || len(outcomes) != n {
			t.Fatalf("%s: %v %v", what, outcomes, err)
		}
		for i, got := range outcomes {
			expected, ok := want[i]
			if !ok {
				expected = want[-1]
			}
			if got != expected {
				t.Errorf("%s %d: %v, not %v", what, i, got, expected)
			}
		}
	}

	other(one(bad))
	client.HSet(ctx, one(garbage), "job", "no state", "old", "1")
	other(s.Keys.Ended(id(tombstone)))
	starts := make([]Start, n)
	for i := range starts {
		starts[i] = attempt(id(i), time.Hour, "l")
		starts[i].Entry = client.XAdd(ctx, &redis.XAddArgs{Stream: s.Keys.Jobs, Values: []string{"id", id(i)}}).Val()
	}
	outcomes, err := s.Jobs.Start(ctx, "", starts...)
	check("start", outcomes, err, map[int]Outcome{-1: OK, bad: Broken, tombstone: Broken})
	if left := client.XLen(ctx, s.Keys.Jobs).Val(); left != 2 {
		t.Errorf("%d entries are left of the two that were not started", left)
	}
	if client.HExists(ctx, one(garbage), "old").Val() {
		t.Error("a job that replaces something has its fields")
	}
	client.Del(ctx, s.Keys.Ended(id(tombstone)), one(bad))
	if outcomes, err := s.Jobs.Start(ctx, "", starts[bad], starts[tombstone]); err != nil || outcomes[0] != OK || outcomes[1] != OK {
		t.Fatal(outcomes, err)
	}

	tasks := make([]*Task, n) // of which the two come last
	for range tasks {
		task := firstTask(t, s, "l", "w")
		var k int
		if _, err := fmt.Sscanf(task.ID, "job-%d", &k); err != nil {
			t.Fatal(err)
		}
		tasks[k] = task
	}
	other(one(bad))
	client.HSet(ctx, one(garbage), "job", "1 RUN")
	client.Del(ctx, one(lost))
	outcomes = make([]Outcome, n)
	together(t, s, n, func(i int) {
		outcome, err := tasks[i].Complete(ctx, chunkOf(0, fmt.Sprint(i)), 0)
		if errors.Is(err, ErrBroken) {
			outcome, err = Broken, nil
		}
		if err != nil {
			t.Errorf("complete %d: %v", i, err)
		}
		outcomes[i] = outcome
	})
	check("complete", outcomes, nil, map[int]Outcome{-1: Already, bad: Broken, garbage: Broken, lost: Gone})
	if entries, p := pending(t, s, s.Keys.Task("l")); entries != 2 || p != 2 {
		t.Errorf("%d entries and %d pending are left of the two that are broken", entries, p)
	}

	smalls := make([]Small, n)
	for i := range smalls {
		smalls[i] = Small{Message: Message{id(i), 1}, Stage: 1}
	}
	for range n - 3 {
		entry, fields, ok := read(t, s, s.Keys.FanIn, "f")
		if !ok {
			t.Fatal("a barrier is missing")
		}
		var k int
		if _, err := fmt.Sscanf(fields["id"], "job-%d", &k); err != nil {
			t.Fatal(err)
		}
		smalls[k].Entry = entry
	}
	folds, err := s.Folds.Open(ctx, smalls)
	if err != nil {
		t.Fatal(err)
	}
	ends := make([]End, n)
	for i, f := range folds {
		if broken := slices.Contains([]int{bad, garbage, lost}, i); (f == nil) != broken {
			t.Fatalf("open %d: %v", i, f)
		} else if broken {
			folds[i] = &Fold{State: &job.State{ID: id(i), Attempt: 1, Stage: 1}, s: s.conn}
			ends[i] = End{folds[i], "SUCCESS", "x", false}
			continue
		}
		data, err := f.Stored("l").Get(ctx, []string{"c"}, 0)
		if err != nil || string(data[0]) != fmt.Sprintf("[%d]", i) {
			t.Errorf("data of %d: %s %v", i, data, err)
		}
		ends[i] = End{f, "SUCCESS", fmt.Sprint("file-", i), i%2 == 1}
	}
	want := map[int]Outcome{-1: OK, bad: Broken, garbage: Broken, lost: Gone}
	outcomes, err = s.Folds.Publish(ctx, folds...)
	check("publish", outcomes, err, want)
	other(s.Keys.Ended(id(lost)))
	for range 2 {
		outcomes, err = s.Folds.Settle(ctx, ends...)
		check("settle", outcomes, err, want)
	}
	told := map[string]bool{}
	for _, e := range client.XRange(ctx, s.Keys.Finished, "-", "+").Val() {
		id, attempt, ok := job.ParseEnd(e.Values["name"].(string))
		if told[id] || !ok || attempt != 1 {
			t.Errorf("%v", e.Values)
		}
		told[id] = true
	}
	for i := range n {
		if want := ends[i].Notify; told[id(i)] != want {
			t.Errorf("the end of %d is told: %v", i, !want)
		}
	}
	if entries, p := pending(t, s, s.Keys.FanIn); entries != 0 || p != 0 {
		t.Errorf("%d entries and %d pending are left", entries, p)
	}
	if running := client.ZCard(ctx, s.Keys.Deadlines).Val(); running != 3 {
		t.Errorf("%d run, not those three that are broken", running)
	}
	if state, err := s.Jobs.Read(ctx, id(9)); err != nil || state.File != "file-9" {
		t.Errorf("%+v %v", state, err)
	}
}

// TestAnIDTwiceInABatch starts one job: two messages of one task that need no take must
// never exist.
func TestAnIDTwiceInABatch(t *testing.T) {
	t.Parallel()
	for _, exists := range []bool{false, true} {
		s, client := newScripts(t)
		ctx := t.Context()
		if exists {
			started(t, s, "other", time.Hour, "l") // so that the script looks at each job
		}
		before := client.XLen(ctx, s.Keys.Task("l")).Val()
		first, again, next, old := attempt("1", time.Hour, "l"), attempt("1", time.Hour, "l"), attempt("1", time.Hour, "l"), attempt("1", time.Hour, "l")
		next.Attempt, next.Parameters = 2, []byte(`{"a":1}`)
		starts := []Start{first, again, next, old}
		if exists {
			starts = append(starts, attempt("other", time.Hour, "l"))
		}
		outcomes, err := s.Jobs.Start(ctx, "", starts...)
		if err != nil || !slices.Equal(outcomes[:4], []Outcome{OK, Already, OK, Another}) {
			t.Fatal(outcomes, err)
		}
		if n := client.XLen(ctx, s.Keys.Task("l")).Val() - before; n != 2 {
			t.Errorf("%d messages for two attempts", n)
		}
		if state, err := s.Jobs.Read(ctx, "1"); err != nil || state.Attempt != 2 || string(state.Parameters) != `{"a":1}` {
			t.Errorf("%+v %v", state, err)
		}
	}
}

// TestMessagesComeFirst: if one cannot be sent, nothing has changed, and the call can be
// repeated when it can be.
func TestMessagesComeFirst(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		broken func(s *Scripts) string
		begin  func(t *testing.T, s *Scripts) func() (Outcome, error)
	}{
		"start, the second stream": {func(s *Scripts) string { return s.Keys.Task("b") }, func(t *testing.T, s *Scripts) func() (Outcome, error) {
			return func() (Outcome, error) {
				outcomes, err := s.Jobs.Start(t.Context(), "", attempt("1", time.Hour, "a,b"))
				return append(outcomes, 0)[0], err
			}
		}},
		"start, the events": {func(s *Scripts) string { return s.Keys.Events }, func(t *testing.T, s *Scripts) func() (Outcome, error) {
			return func() (Outcome, error) {
				outcomes, err := s.Jobs.Start(t.Context(), "", attempt("1", time.Hour, "a,b"))
				return append(outcomes, 0)[0], err
			}
		}},
		"complete": {func(s *Scripts) string { return s.Keys.FanIn }, func(t *testing.T, s *Scripts) func() (Outcome, error) {
			started(t, s, "1", time.Hour, "l")
			task := firstTask(t, s, "l", "w")
			return func() (Outcome, error) {
				outcome, err := task.Complete(t.Context(), chunkOf(0, "1"), 0)
				if outcome == Already {
					outcome = OK
				}
				return outcome, err
			}
		}},
		"omit": {func(s *Scripts) string { return s.Keys.FanIn }, func(t *testing.T, s *Scripts) func() (Outcome, error) {
			started(t, s, "1", time.Hour, "l")
			task := firstTask(t, s, "l", "w")
			return func() (Outcome, error) {
				outcome, err := task.Omit(t.Context(), "optional", "x")
				if outcome == Already {
					outcome = OK
				}
				return outcome, err
			}
		}},
		"fail": {func(s *Scripts) string { return s.Keys.FanIn }, func(t *testing.T, s *Scripts) func() (Outcome, error) {
			started(t, s, "1", time.Hour, "l")
			task := firstTask(t, s, "l", "w")
			return func() (Outcome, error) { return task.Fail(t.Context(), "x", job.BlameSource) }
		}},
		"expire": {func(s *Scripts) string { return s.Keys.FanIn }, func(t *testing.T, s *Scripts) func() (Outcome, error) {
			started(t, s, "1", -time.Second, "l")
			return func() (Outcome, error) {
				outcome, _, err := s.Jobs.Expire(t.Context(), "1")
				return outcome, err
			}
		}},
		"cancel": {func(s *Scripts) string { return s.Keys.FanIn }, func(t *testing.T, s *Scripts) func() (Outcome, error) {
			started(t, s, "1", time.Hour, "l")
			return func() (Outcome, error) {
				outcome, _, err := s.Jobs.Cancel(t.Context(), "1", 1, "x")
				return outcome, err
			}
		}},
		"requeue": {func(s *Scripts) string { return s.Keys.Delayed }, func(t *testing.T, s *Scripts) func() (Outcome, error) {
			started(t, s, "1", time.Hour, "l")
			task := firstTask(t, s, "l", "w")
			return func() (Outcome, error) {
				return task.Requeue(t.Context(), Requeue{Delay: time.Hour, Counts: true, Error: "x"})
			}
		}},
		"hand back": {func(s *Scripts) string { return s.Keys.Delayed }, func(t *testing.T, s *Scripts) func() (Outcome, error) {
			started(t, s, "1", time.Hour, "l")
			task := firstTask(t, s, "l", "w")
			return func() (Outcome, error) { return OK, task.HandBack(t.Context()) }
		}},
		"advance, the second stream": {func(s *Scripts) string { return s.Keys.Task("b") }, func(t *testing.T, s *Scripts) func() (Outcome, error) {
			ready(t, s, "1", time.Hour)
			fold := claimed(t, s, "1", "f", OK)
			return func() (Outcome, error) { return fold.Advance(t.Context(), []string{"a", "b"}) }
		}},
		"repair": {func(s *Scripts) string { return s.Keys.Jobs }, func(t *testing.T, s *Scripts) func() (Outcome, error) {
			started(t, s, "1", time.Hour, "l")
			s.rdb.Del(t.Context(), s.Keys.Job("1"))
			return func() (Outcome, error) { return s.Clock.Repair(t.Context(), "1") }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, client := newScripts(t)
			ctx := t.Context()
			call := c.begin(t, s)
			key, renamed := c.broken(s), c.broken(s)+":renamed"
			client.Rename(ctx, key, renamed)
			client.Set(ctx, key, "x", 0)
			before := everything(t, s, key, renamed)
			if outcome, err := call(); !errors.Is(err, ErrBroken) {
				t.Fatalf("%v %v", outcome, err)
			}
			// An event may tell of a start that failed then.
			if after := everything(t, s, key, renamed); after != before && !strings.HasPrefix(name, "start") {
				t.Errorf("it was\n%s\nit is\n%s", before, after)
			}
			client.Del(ctx, key)
			client.Rename(ctx, renamed, key)
			if outcome, err := call(); err != nil || outcome != OK {
				t.Errorf("again: %v %v", outcome, err)
			}
			if n := client.XLen(ctx, s.Keys.Task("a")).Val(); n > 1 {
				t.Errorf("%d messages of one task", n)
			}
		})
	}
}

// everything shows all that a test has in Redis, but for some keys.
func everything(t *testing.T, s *Scripts, but ...string) string {
	t.Helper()
	ctx := t.Context()
	var text []string
	for _, prefix := range []string{s.Keys.Prefix, s.Keys.Hash} {
		for _, key := range s.rdb.Keys(ctx, prefix+"*").Val() {
			if slices.Contains(but, key) {
				continue
			}
			switch s.rdb.Type(ctx, key).Val() {
			case "hash":
				text = append(text, fmt.Sprint(key, s.rdb.HGetAll(ctx, key).Val()))
			case "zset":
				text = append(text, fmt.Sprint(key, s.rdb.ZRangeWithScores(ctx, key, 0, -1).Val()))
			case "stream":
				if found := s.rdb.XRange(ctx, key, "-", "+").Val(); len(found) > 0 {
					text = append(text, fmt.Sprint(key, found, s.rdb.XPending(ctx, key, Group).Val()))
				}
			}
		}
	}
	slices.Sort(text)
	return strings.Join(text, "\n")
}

// TestCallsThatShare: calls of one script that come at the same time are one for every
// listener and shape of its chunk, and every one gets its own answer.
func TestCallsThatShare(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	const n = 100
	for i := range n {
		started(t, s, fmt.Sprint(i), time.Hour, "a,b")
	}
	var tasks []*Task
	for range n {
		tasks = append(tasks, firstTask(t, s, "a", "w"), firstTask(t, s, "b", "w"))
	}
	for i := 0; i < len(tasks); i += 10 { // their chunks are stored
		if outcome, err := tasks[i].Append(ctx, chunkOf(0, "7,8")); err != nil || outcome != OK {
			t.Fatal(outcome, err)
		}
	}
	barriers := make([]int, len(tasks))
	together(t, s, len(tasks), func(i int) {
		chunk := chunkOf(0, fmt.Sprint(i))
		switch {
		case i%10 == 0:
			chunk = Chunk{}
		case i%10 == 1: // of another shape, although its columns look the same
			chunk.Names, chunk.Fields = []string{"d", "e"}, append(chunk.Fields, []byte("[0]"))
		case i%10 == 2:
			chunk.Number = 3
			if outcome, err := tasks[i].Complete(ctx, Chunk{Number: 3}, 0); !errors.Is(err, ErrChunk) {
				t.Errorf("%d without its chunks: %v %v", i, outcome, err)
			}
			return
		}
		outcome, err := tasks[i].Complete(ctx, chunk, 0)
		if err != nil || outcome != OK && outcome != Already {
			t.Errorf("%d: %v %v", i, outcome, err)
		}
		if outcome == Already {
			barriers[i] = 1
		}
	})
	reached := 0
	for _, n := range barriers {
		reached += n
	}
	// Every fifth job misses the chunks of one listener.
	if stream := client.XLen(ctx, s.Keys.FanIn).Val(); reached != n*4/5 || stream != n*4/5 {
		t.Errorf("%d barriers are answered and %d announced, of %d", reached, stream, n*4/5)
	}
	for field, want := range map[string]string{"b.d": "[1]", "b.e": "[0]", "a.c": "[7,8]"} {
		if got := client.HGet(ctx, s.Keys.Job("0"), field).Val(); got != want {
			t.Errorf("%s is %s, not %s", field, got, want)
		}
	}
}

// TestManyColumns: as many as a result of MySQL can have.
func TestManyColumns(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	started(t, s, "1", time.Hour, "a,b")
	chunk := Chunk{Rows: 1, Columns: []string{}}
	for i := range 4096 {
		chunk.Names, chunk.Fields = append(chunk.Names, fmt.Sprint("c", i)), append(chunk.Fields, []byte("[1]"))
	}
	if outcome, err := firstTask(t, s, "a", "w").Complete(t.Context(), chunk, 0); err != nil || outcome != OK {
		t.Fatal(outcome, err)
	}
	b := firstTask(t, s, "b", "w")
	if outcome, err := b.Append(t.Context(), chunk); err != nil || outcome != OK {
		t.Fatal(outcome, err)
	}
	if outcome, err := b.Complete(t.Context(), Chunk{}, 0); err != nil || outcome != Already {
		t.Fatal(outcome, err)
	}
	data := 0
	for field := range client.HGetAll(t.Context(), s.Keys.Job("1")).Val() {
		if strings.HasPrefix(field, "a.c") || strings.HasPrefix(field, "b.c") {
			data++
		}
	}
	if data != 2*4096 {
		t.Errorf("%d fields of data", data)
	}
}

// TestALargeLastChunk takes a round trip of its own, and the call can be repeated. Its job is
// large.
func TestALargeLastChunk(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	started(t, s, "1", time.Hour, "l")
	task := firstTask(t, s, "l", "w")
	chunk := chunkOf(0, `"`+strings.Repeat("x", sharedBytes)+`"`)
	for call := range 2 {
		if outcome, err := task.Complete(t.Context(), chunk, 0); err != nil || outcome != Already {
			t.Errorf("call %d: %v %v", call, outcome, err)
		}
		if n := client.XLen(t.Context(), s.Keys.FanInLarge).Val(); n != 1 {
			t.Errorf("call %d: %d messages", call, n)
		}
	}
}

// TestScriptsThatRedisForgot are sent again in the middle of many calls, each of which has
// its effect once and in its order.
func TestScriptsThatRedisForgot(t *testing.T) {
	t.Parallel()
	server, err := testenv.StartRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	client := server.Client()
	t.Cleanup(func() { _ = client.Close() })
	s := New(Options{Redis: client})
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			id := fmt.Sprint("job-", i)
			if i%20 == 0 {
				client.ScriptFlush(t.Context())
			}
			outcomes, err := s.Jobs.Start(t.Context(), "", attempt(id, time.Hour, "l"))
			if err != nil || outcomes[0] != OK {
				t.Errorf("start %s: %v %v", id, outcomes, err)
			}
			task, _ := s.Tasks.New(Message{id, 1}, "l", Entry{})
			if outcome, err := task.Take(t.Context(), Take{Owner: "o", Known: []string{"d"}}); err != nil || outcome != OK {
				t.Errorf("take %s: %v %v", id, outcome, err)
			}
			if outcome, err := task.Complete(t.Context(), chunkOf(0, "1"), 0); err != nil || outcome != Already {
				t.Errorf("complete %s: %v %v", id, outcome, err)
			}
		})
	}
	wg.Wait()
	if n := client.XLen(t.Context(), s.Keys.FanIn).Val(); n != 200 {
		t.Errorf("%d barriers for 200 jobs", n)
	}
}
