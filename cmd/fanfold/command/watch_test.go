package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/cmd/fanfold/show"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/inspect/watch"
)

// written has the output of a command so far.
type written struct {
	mutex sync.Mutex
	b     bytes.Buffer
}

func (t *written) Write(p []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.b.Write(p)
}

func (t *written) String() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.b.String()
}

// start runs a command in this process, in parallel with the test.
func (s commands) start(args ...string) (out *written, code func() int) {
	out = &written{}
	ended := make(chan int, 1)
	go func() { ended <- run(s.Context(), append([]string{"-c", s.File}, args...), out, out) }()
	return out, func() int { return <-ended }
}

// inOrder reports whether the text has these parts, one after the other.
func inOrder(text string, parts ...string) bool {
	for _, part := range parts {
		_, rest, ok := strings.Cut(text, part)
		if !ok {
			return false
		}
		text = rest
	}
	return true
}

// TestWatch: watch follows jobs from before their push to their end, also for jobs whose events are
// gone.
func TestWatch(t *testing.T) {
	t.Parallel()
	s := newStack(t, `
  steps:
    retry: {retries: 1, delay: 1s}
    listeners:
      first: {database: db, query: "SELECT id AS k FROM steps"}
      second: {database: db, query: "SELECT id AS k, SLEEP(0.2) AS v FROM steps WHERE id IN (:first.k)"}
    join: {key: k}
  never:
    retry: 0
    listeners: {bad: {database: db, query: "SELECT k FROM no_such_table"}}
`)
	good, bad := s.Records.Insert("steps", ""), s.Records.Insert("never", "")
	out, code := s.start("watch", bad, good, bad)
	jsonOut, jsonCode := s.start("watch", good, "-o", "json")
	s.Eventually("both are watched", func() bool {
		return strings.Contains(out.String(), bad+" PENDING") && strings.Contains(jsonOut.String(), "PENDING")
	})
	s.Records.Exec("CREATE TABLE steps (id INT)")
	s.Records.Exec("INSERT INTO steps VALUES (1), (2)")
	s.Serve(s.File)
	s.Jobs.Push(good, bad)
	if got := code(); got != exitJobFailed {
		t.Errorf("exit code %d", got)
	}
	if got := out.String(); !inOrder(got, good+" PROCESSING, attempt 1", good+" first done, 2 rows", good+" second done, 2 rows", good+" SUCCESS, attempt 1: file://") ||
		!inOrder(got, bad+" FAILED, attempt 1: listener bad") {
		t.Errorf("%s", got)
	}
	if got := jsonCode(); got != exitOK {
		t.Errorf("exit code %d", got)
	}
	var events []string
	for d := json.NewDecoder(strings.NewReader(jsonOut.String())); ; {
		var l show.Line
		if err := d.Decode(&l); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("%v:\n%s", err, jsonOut)
		}
		if events = append(events, l.Event); l.ID != good || l.At.IsZero() {
			t.Errorf("%+v", l)
		}
	}
	if !slices.Contains(events, "listener") || events[len(events)-1] != "ended" {
		t.Errorf("%v:\n%s", events, jsonOut)
	}
	// Ended jobs are printed at once, and of many jobs only the ends.
	if got, code := s.fanfold("watch", good); code != exitOK || !strings.Contains(got, good+" SUCCESS") {
		t.Errorf("%d %s", code, got)
	}
	ids := []string{good}
	for range show.MaxBars {
		ids = append(ids, s.Records.Insert("never", ""))
	}
	out, code = s.start(append([]string{"watch"}, ids...)...)
	s.Jobs.Push(ids[1:]...)
	if got := code(); got != exitJobFailed || strings.Count(out.String(), " FAILED, attempt 1") != show.MaxBars {
		t.Errorf("%d %s", got, out)
	}
}

// TestWatchOfAQueue: watch says why a job has not started.
func TestWatchOfAQueue(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow, "limits: {running_jobs: 1, shutdown_timeout: 1s}")
	s.Serve(s.File)
	first, second, third := s.Records.Insert("slow", `{"seconds": 300}`), s.Records.Insert("slow", ""), s.Records.Insert("slow", `{"seconds": 2}`)
	s.Jobs.Push(first)
	s.Eventually("the first one runs", func() bool { return s.Redis.ZCard(t.Context(), s.Partitions.First().Keys.Deadlines).Val() == 1 })
	s.Jobs.Push(second)
	s.Eventually("the second one waits", func() bool {
		out, _ := s.fanfold("why", second)
		return strings.Contains(out, "until a running job ends")
	})
	s.Jobs.Push(third)
	out, code := s.start("watch", third)
	s.Eventually("it says why it waits", func() bool {
		return inOrder(out.String(), third+" PENDING", third+" PENDING: It waits in ", " behind 1 other until a running job ends: 1 job runs")
	})
	for _, id := range []string{second, first} {
		if out, code := s.fanfold("cancel", id); code != exitOK {
			t.Error(out)
		}
	}
	if got := code(); got != exitOK || !inOrder(out.String(), third+" PROCESSING", third+" SUCCESS") {
		t.Errorf("%d %s", got, out)
	}
}

// TestWatchWithoutEvents: watch ends with its jobs although the events are deleted, and shows a job
// that fails and is retried.
func TestWatchWithoutEvents(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	s.Serve(s.File)
	id := s.Records.Insert("slow", `{"seconds": 2}`)
	out, code := s.start("watch", id)
	s.Jobs.Push(id)
	s.Eventually("it runs", func() bool { return strings.Contains(out.String(), " running") })
	if err := s.Redis.Del(t.Context(), s.Partitions.First().Keys.Events).Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.Redis.Do(t.Context(), "XADD", s.Partitions.First().Keys.Events, "1-1", "id", "other", "event", "done").Err(); err != nil {
		t.Fatal(err)
	}
	if got := code(); got != exitOK || !inOrder(out.String(), " done, 1 row", id+" SUCCESS") {
		t.Errorf("%d %s", got, out)
	}
	deletedID := s.Records.Insert("slow", "")
	out, code = s.start("watch", deletedID)
	s.Eventually("it is watched", func() bool { return strings.Contains(out.String(), "PENDING") })
	s.Records.Exec("DELETE FROM file_download_record WHERE id = ?", deletedID)
	if got := code(); got != exitJobFailed || !strings.Contains(out.String(), deletedID+" DELETED: the record was deleted") {
		t.Errorf("%d %s", got, out)
	}
}

// TestWatchOfManyOnATerminal: more jobs than the maximum number of bars are shown as lines.
func TestWatchOfManyOnATerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		terminal bool
		output   string
		jobs     int
		bars     bool
	}{{true, "table", show.MaxBars, true}, {true, "table", show.MaxBars + 1, false}, {true, "json", 1, false}, {false, "table", 1, false}} {
		if got := showsBars(c.terminal, c.output, c.jobs); got != c.bars {
			t.Errorf("%+v", c)
		}
	}
}

// TestWatchThatIsEnded: a watch that a signal ends says so, at whatever point it is.
func TestWatchThatIsEnded(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	ids := []string{s.Records.Insert("slow", ""), s.Records.Insert("slow", "")}
	signal := errors.New("terminated signal received")
	for _, event := range []bool{false, true} {
		ctx, end := context.WithCancelCause(t.Context())
		show := endsWatch(func() { end(signal) })
		if event {
			end(signal)
		}
		if _, err := (&backend{s.Process}).watch(ctx, ids, show); err == nil || err.Error() != signal.Error()+"\nThe jobs continue; check them with fanfold status" {
			t.Errorf("%v", err)
		}
		if _, err := (&backend{s.Process}).await(ctx, ids, io.Discard); err == nil || err.Error() != signal.Error()+"\nThe jobs continue; check them with fanfold status" {
			t.Errorf("%v", err)
		}
	}
}

// endsWatch is a watcher that ends the watch at the first update.
type endsWatch func()

func (e endsWatch) Show(inspect.Job) error  { e(); return nil }
func (e endsWatch) Event(watch.Event) error { return nil }
