package show

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/inspect/watch"
	"github.com/fanfold/fanfold/inspect/why"
	"github.com/fanfold/fanfold/report"
)

// TestLines are those of what is looked at and told.
func TestLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := NewLines(&out, false)
	next := time.Now().Add(time.Minute).Truncate(time.Millisecond)
	clock := next.Local().Format(time.TimeOnly)
	running := inspect.Job{ID: "1", Status: report.Processing, Attempt: 1, Job: "RUN", Stage: 1, Listeners: []inspect.Listener{
		{Name: "a", Stage: 1, State: "running", Tries: 1}, {Name: "b", Stage: 2, State: "waiting"},
	}}
	waits := running
	waits.Listeners = []inspect.Listener{{Name: "a", Stage: 1, State: "waiting", Tries: 1, Next: &next, Why: "cut"}}
	again := running
	again.Listeners = []inspect.Listener{{Name: "a", Stage: 1, State: "running", Tries: 2, Rows: 5}}
	more := again
	more.Listeners = []inspect.Listener{{Name: "a", Stage: 1, State: "running", Tries: 2, Rows: 9}}
	fails := watch.Event{ID: "1", Name: "retry", At: time.Now(), Fields: map[string]string{"step": "a", "counts": "1", "next": waitsUntil(next.UnixMilli())[len("waits until "):], "error": "cut"}}
	for _, step := range []any{
		running, running, watch.Event{ID: "1", Name: "started"}, fails, waits, again, more,
		watch.Event{ID: "1", Name: "retry", Fields: map[string]string{"step": "@fanin", "counts": "0", "next": "5", "error": "sink\naway"}},
		watch.Event{ID: "1", Name: "omitted", Fields: map[string]string{"listener": "b", "policy": "optional", "reason": "late"}},
		watch.Event{ID: "1", Name: "refused", Fields: map[string]string{"listener": "b", "worker": "\x1b[2Jw\r", "type": "rows", "reason": "an older attempt"}},
		watch.Event{ID: "1", Name: "failing", Fields: map[string]string{"by": "@cancel", "reason": "cancelled"}},
		watch.Event{ID: "1", Name: "failing", Fields: map[string]string{"by": "b", "reason": "bad"}},
		watch.Event{ID: "1", Name: "new", Fields: map[string]string{"id": "1", "attempt": "1", "x": "y"}},
		watch.Event{ID: "1", Name: "ignored", Fields: map[string]string{"reason": "duplicate"}},
		inspect.Job{ID: "1", Status: report.Partial, Attempt: 1, File: "gs://b/1.csv", Error: "without listener b"},
	} {
		var err error
		switch v := step.(type) {
		case inspect.Job:
			err = l.Show(v)
		case watch.Event:
			err = l.Event(v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// Told by a look, where the event is gone.
	lost := NewLines(&out, false)
	if err := lost.Show(waits); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.TrimSpace(line[len("15:04:05 "):]))
	}
	five := time.UnixMilli(5).Local().Format(time.TimeOnly)
	want := []string{
		"1 PROCESSING, attempt 1, RUN, stage 1", "1 a running, 0 rows",
		"1 a failed, next try at " + clock + ": cut", "1 a running, 5 rows, try 2",
		"1 @fanin is retried at " + five + ", which does not count as a try: sink away",
		"1 b was given up (optional): late", "1 b: an entry of worker  [2Jw  was refused: an older attempt",
		"1 will be cancelled: cancelled", "1 will fail: bad", `1 new x="y"`, "1 a push had no effect: duplicate",
		"1 PARTIAL, attempt 1: gs://b/1.csv (without listener b)",
		"1 PROCESSING, attempt 1, RUN, stage 1", "1 a waits until " + clock + ": cut",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

// TestLinesOfAQueue: why a job has not started is told when it changes, and not because time passes.
func TestLinesOfAQueue(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := NewLines(&out, false)
	for _, v := range []inspect.Job{
		{}, {Waits: "behind 2 others", Waiting: string(why.KindNoRoom)}, {Waits: "behind 2 others", Waiting: string(why.KindNoRoom)}, {Waits: "the next one", Waiting: string(why.KindNoRoom)},
		{Waits: "due in 9s", Waiting: string(why.KindDelayed)}, {Waits: "due in 6s", Waiting: string(why.KindDelayed)},
	} {
		v.ID, v.Status = "1", report.Pending
		if err := l.Show(v); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.TrimSpace(line[len("15:04:05 "):]))
	}
	if want := []string{"1 PENDING", "1 PENDING: behind 2 others", "1 PENDING: the next one", "1 PENDING: due in 9s"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestLinesOfWaiting: looks at somebody else's job are no lines, and a pause is one.
func TestLinesOfWaiting(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := NewLines(&out, false)
	look := func(listener inspect.Listener, paused ...string) {
		listener.Name, listener.Stage, listener.Tries = "a", 1, 1
		if err := l.Show(inspect.Job{ID: "1", Status: report.Processing, Attempt: 1, Job: "RUN", Stage: 1, Paused: paused, Listeners: []inspect.Listener{listener}}); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	waits := func(n int, why string) inspect.Listener {
		next := start.Add(time.Duration(n) * time.Second)
		return inspect.Listener{State: "waiting", Next: &next, Why: why, Waits: true}
	}
	look(inspect.Listener{State: "waiting"}, "listener/a")
	look(inspect.Listener{State: "waiting"}, "listener/a")
	look(inspect.Listener{State: "running"})
	if err := l.Event(watch.Event{ID: "1", Name: "waits", At: start, Fields: map[string]string{"step": "a", "next": waitsUntil(start.UnixMilli())[len("waits until "):], "for": "job 7"}}); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		look(waits(n, "job 7"))
		look(inspect.Listener{State: "running"})
	}
	look(waits(4, "job 8"))
	look(waits(5, "job 8"))
	look(inspect.Listener{State: "running", Rows: 3})
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.TrimSpace(line[len("15:04:05 "):]))
	}
	want := []string{
		"1 PROCESSING, attempt 1, RUN, stage 1", "1 waits: listener/a is paused, until fanfold resume listener a", "1 continues: listener/a was resumed", "1 a running, 0 rows",
		"1 a waits until " + start.Local().Format(time.TimeOnly) + " for job 7",
		"1 a waits until " + start.Add(4*time.Second).Local().Format(time.TimeOnly) + ": job 8",
		"1 a running, 3 rows",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}
