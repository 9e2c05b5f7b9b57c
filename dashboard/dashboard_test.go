package dashboard

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/inspect/why"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/scripts/tally"
	"github.com/google/go-cmp/cmp"
)

// TestCharts: lines stay in their box, also without data. What is counted does not come from this process.
func TestCharts(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var h history
	for i := range 500 {
		h = h.add(now.Add(time.Duration(i-500)*15*time.Second), inspect.Sums{{"jobs_running", ""}: float64(i), {"tasks_lag", "a"}: 1, {"tasks_lag", "b"}: 2})
	}
	if n := len(h); n != 241 && n != 240 {
		t.Errorf("%d points of an hour", n)
	}
	var minutes []tally.Bucket
	for i := range 60 {
		b := tally.NewBucket(now.Truncate(time.Minute).Add(time.Duration(i-59) * time.Minute))
		b.Fill(map[string]string{"r/a": "SUCCESS=3 PARTIAL=2 FAILED=1", "r/b": "CANCELLED=1 run3=1"})
		minutes = append(minutes, b)
	}
	for _, points := range []history{nil, h[:1], h} {
		for _, c := range charts(points, minutes[:len(points)/10], now) {
			for _, l := range c.Lines {
				if strings.Contains(l.Path, "NaN") || strings.Contains(l.Path, "Inf") || strings.Contains(l.Path, "-") {
					t.Errorf("%s: %s", c.Title, l.Path)
				}
			}
		}
	}
	if c := charts(h, minutes, now); c[2].Lines[0].Last != "3" || c[1].Max != "499" || c[0].Says() != "Ended per minute: with a file 5, without 2, at most 5 in the last hour" {
		t.Errorf("%+v", c)
	}
}

// TestSourceRows sums the tries of a source's listeners over the last hour.
func TestSourceRows(t *testing.T) {
	t.Parallel()
	now := time.Now()
	sums := tally.Sums{}
	for i := range 100 {
		sums.Event(now, map[string]string{"event": "finished", "ms": "1", "tasks": fmt.Sprintf("a:1:1:%d,b:1:1:%d", i+1, i+1)})
	}
	for step, n := range map[string]int{"a": 2, "b": 1, "c": 7} {
		for range n {
			sums.Event(now, map[string]string{"event": "retry", "step": step})
		}
	}
	counters := map[string]string{}
	for key, names := range sums {
		if key.Level.Of == time.Minute {
			for name, counter := range names {
				counters[name] = counter.String()
			}
		}
	}
	minutes := []tally.Bucket{tally.NewBucket(now), tally.NewBucket(now)}
	minutes[0].Fill(counters)
	minutes[1].Fill(counters)
	listeners := []listener{{Load: inspect.Load{Name: "a"}, Source: "db", Jobs: 3}, {Load: inspect.Load{Name: "b"}, Source: "db", Jobs: 4}, {Load: inspect.Load{Name: "c"}, Source: "api"}}
	rows := listPages{}.sourceRows(&sample{At: now, Minutes: minutes, Sources: []source{{Name: "db"}, {Name: "idle"}}}, listeners)
	if r := rows[0]; r.Open != 7 || r.Failed != 6 || math.Abs(r.Rate-400.0/60) > 0.1 || r.P95 < 80*time.Millisecond || r.P95 > 114*time.Millisecond {
		t.Errorf("%+v", r)
	}
	if r := rows[1]; r.Failed != 0 || r.Rate != 0 || r.P95 != 0 {
		t.Errorf("%+v", r)
	}
}

// TestSinkThatHangs delays nothing, and is not asked again until it answers.
func TestSinkThatHangs(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	began, answer := make(chan struct{}), make(chan error)
	ask := func(context.Context) error {
		if asked.Add(1) > 1 {
			return nil
		}
		close(began)
		return <-answer
	}
	p := probe{ask: ask}
	p.read(t.Context())
	<-began
	since := p.asked
	p.asked = since.Add(-time.Minute) // the question has had no answer for a minute
	if got := p.read(t.Context()); got.Err == "" || !got.Since.Equal(p.asked) {
		t.Errorf("%+v", got)
	}
	answer <- errors.New("refused")
	for _, want := range []string{"refused", ""} {
		for end := time.Now().Add(time.Minute); ; {
			got := p.read(t.Context())
			if got.Known && got.Err == want {
				if want != "" && got.Since.IsZero() {
					t.Error("since when?")
				}
				break
			}
			if time.Now().After(end) {
				t.Fatalf("it is not asked again after its answer: %+v", got)
			}
		}
	}
}

// TestStrip counts every due time in its hour.
func TestStrip(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var s strip
	for _, in := range []time.Duration{-time.Minute, time.Minute, 59 * time.Minute, 61 * time.Minute, 25 * time.Hour} {
		s.add(now, now.Add(in))
	}
	if s.Overdue != 1 || s.Hours[0] != 2 || s.Hours[1] != 1 || len(s.Bars()) != 25 || s.Bars()[1].Height != 100 {
		t.Errorf("%+v", s)
	}
}

// TestFirstRequest waits for a sample with lists: figures alone are not enough.
func TestFirstRequest(t *testing.T) {
	t.Parallel()
	s := newSampler(Options{})
	s.now.Store(&sample{Number: 1, At: time.Now()}) // figures, without a request
	found := make(chan *sample)
	go func() { found <- s.latest(t.Context()) }()
	<-s.wake
	s.now.Store(&sample{Number: 2, At: time.Now(), Full: true})
	s.mu.Lock()
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
	if got := <-found; got.Number != 2 {
		t.Errorf("%+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.now.Store(&sample{Number: 3, At: time.Now().Add(-time.Hour), Full: true})
	if got := s.latest(ctx); got.Number != 3 { // what there is, with its time
		t.Errorf("%+v", got)
	}
}

// TestPartitionsTogether: over all partitions, counts are added, ages are the maximum and workers the minimum.
func TestPartitionsTogether(t *testing.T) {
	t.Parallel()
	f := inspect.Sum([]inspect.Figure{
		{Name: "tasks_lag", Of: "a", Part: "0", Value: 2}, {Name: "tasks_lag", Of: "a", Part: "1", Value: 3},
		{Name: "tasks_oldest_seconds", Of: "a", Part: "0", Value: 2}, {Name: "tasks_oldest_seconds", Of: "a", Part: "1", Value: 3},
		{Name: "tasks_workers", Of: "a", Part: "0", Value: 2}, {Name: "tasks_workers", Of: "a", Part: "1", Value: 0},
	})
	if f.Of("tasks_lag", "a") != 5 || f.Of("tasks_oldest_seconds", "a") != 3 || f.Of("tasks_workers", "a") != 0 {
		t.Errorf("%v", f)
	}
}

// TestPages: all pages render, also without data or with errors, and escape foreign texts.
func TestPages(t *testing.T) {
	t.Parallel()
	const evil = `<img src=x onerror=alert(1)>`
	d := New(Options{Inspect: &inspect.Inspector{}})
	now := time.Now()
	d.jobs.reasons.known = map[string]reason{"1": {now, why.Verdict{Kind: evil, Summary: evil}}}
	d.jobs.reasons.next = now.Add(time.Hour) // no query: the dashboard has no Inspector
	for name, s := range map[string]*sample{
		"empty":  {At: now, Full: true},
		"errors": {At: now, Full: true, Err: errors.New(evil), Ready: server{Known: true, Err: evil}, Processes: -1, Sources: []source{{Name: evil, Unreachable: evil}}, Settings: settings{Known: true, Err: evil}},
		"evicts": {At: now, Full: true, Sink: server{Known: true, Err: evil}, Spool: server{Known: true, Err: evil}, Settings: settings{Known: true, Missing: []string{"zadd", evil}, Policies: []string{evil}}},
		"full": {
			At: now, Full: true, Jobs: []inspect.Running{{ID: "1", Report: evil, Open: []string{evil}, Deadline: now.Add(time.Hour)}, {ID: "2"}},
			Delayed: []inspect.Delayed{{Member: evil, Bad: evil}}, Timers: []inspect.Timer{{Name: evil}}, Pauses: []inspect.Pause{{What: evil}},
			Dead: []inspect.DeadJob{{ID: "3", Report: evil, Error: evil}}, Quarantined: []inspect.Quarantined{{Entry: evil, Stream: evil, Reason: evil, Fields: evil}}, Figures: inspect.Sums{{"jobs_dead", ""}: 1},
		},
	} {
		d.sampler.now.Store(s)
		for _, p := range menu {
			if slices.Contains([]string{"records", "audit", "sources", "throughput"}, p.Name) {
				continue // it asks a server
			}
			r, w := httptest.NewRequestWithContext(t.Context(), "GET", "http://127.0.0.1"+p.Path, nil), httptest.NewRecorder()
			loggedIn(t, d).ServeHTTP(w, r)
			if text := w.Body.String(); w.Code != 200 || strings.Contains(text, "<img") || !strings.Contains(text, "</html>") {
				t.Errorf("%s, %s: %d %s", name, p.Name, w.Code, text)
			}
		}
	}
}

// TestLive sends the numbers of new samples, to at most maxStreams browsers.
func TestLive(t *testing.T) {
	t.Parallel()
	d := New(Options{Inspect: &inspect.Inspector{}})
	d.sampler.now.Store(&sample{Number: 7, At: time.Now(), Full: true})
	server := httptest.NewServer(d)
	ctx, cancel := context.WithCancel(t.Context())
	ask := func() *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/live", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = answer.Body.Close() })
		return answer
	}
	lines := bufio.NewScanner(ask().Body)
	read := func(want string) {
		t.Helper()
		for lines.Scan() {
			if lines.Text() == want {
				return
			}
		}
		t.Errorf("no %s: %v", want, lines.Err())
	}
	read("data: 7")
	d.sampler.now.Store(&sample{Number: 8, At: time.Now(), Full: true})
	d.sampler.mu.Lock()
	close(d.sampler.changed)
	d.sampler.changed = make(chan struct{})
	d.sampler.mu.Unlock()
	read("data: 8")
	for range maxStreams - 1 {
		d.streams.Open("")
	}
	if answer := ask(); answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("%d", answer.StatusCode)
	}
	cancel()
	server.Close() // which waits for the stream
}

// TestSpread: one browser is told of a sample at once, and many within half a second.
func TestSpread(t *testing.T) {
	t.Parallel()
	for browsers, want := range map[int]time.Duration{1: 0, 11: 100 * time.Millisecond, 51: liveMax, 1000: liveMax} {
		if got := spread(browsers); got != want {
			t.Errorf("%d browsers: %v", browsers, got)
		}
	}
}

// TestViews: every view lists its jobs, and no job whose file is being made is stuck.
func TestViews(t *testing.T) {
	t.Parallel()
	now := time.Now()
	running := func(id, status string, open ...string) inspect.Running {
		return inspect.Running{ID: id, Status: status, Open: open, Started: now.Add(-time.Minute), Deadline: now.Add(time.Hour)}
	}
	late := running("late", job.StatusRun, "a")
	late.Started = now.Add(-2 * time.Hour)
	d := New(Options{Inspect: &inspect.Inspector{}})
	d.jobs.reasons.next = now.Add(time.Hour) // no query: the dashboard has no Inspector
	s := &sample{
		At: now, Full: true, Figures: inspect.Sums{{"tasks_workers", "a"}: 1, {"tasks_workers", "p"}: 1, {"tasks_workers", "b"}: 0}, Pauses: []inspect.Pause{{What: "listener/p"}},
		Jobs: []inspect.Running{
			running("runs", job.StatusRun, "a"), running("ready", job.StatusReady), running("folds", job.StatusFold), running("ends", job.StatusPublishing),
			running("nobody", job.StatusRun, "b"), running("paused", job.StatusRun, "p"), running("lost", ""), running("again", job.StatusRun, "a"), late,
			running("waits", job.StatusRun, "a"), running("unknown", job.StatusRun, "c"),
		},
		Failed: map[string]bool{"again/1/a": true},
		Later: map[string][]inspect.Delayed{
			"again": {inspect.NewDelayed("again/1/a", float64(now.Add(time.Minute).UnixMilli()), now)},
			"waits": {inspect.NewDelayed("waits/1/a", float64(now.Add(time.Minute).UnixMilli()), now)},
		},
	}
	for view, want := range map[string]string{
		"all": "runs ready folds ends nobody paused lost again late waits unknown", "stuck": "nobody paused lost", "late": "late", "retrying": "again",
	} {
		_, content, err := d.jobs.list(t.Context(), httptest.NewRequestWithContext(t.Context(), "GET", "/jobs?view="+view, nil), s)
		var ids []string
		for _, r := range content.(jobs).Table.Rows {
			ids = append(ids, r.Key)
		}
		if got := strings.Join(ids, " "); got != want || err != nil {
			t.Errorf("%s: %s, not %s; %v", view, got, want, err)
		}
	}
}

// TestRowsAgree: the chips of a row say the same as its reason, which shows its age.
func TestRowsAgree(t *testing.T) {
	t.Parallel()
	then := time.Now().Add(-40 * time.Second)
	step := func(name string, kind why.Kind) why.Step {
		return why.Step{Name: name, Kind: kind, Next: then.Add(54 * time.Second)}
	}
	r := row{
		Running: inspect.Running{ID: "1", Attempt: 1, Stage: 1, Status: job.StatusRun},
		Chips:   []chip{{"a", "retry", "next try in 0:14"}, {"b", "open", "open"}, {"c", "open", "open"}, {"d", "open", "open"}},
	}
	r.explain(reason{then, why.Verdict{Now: then, Attempt: 1, Stage: 1, Steps: []why.Step{
		step("a", why.KindRetryWaiting), step("b", why.KindNoSlot), step("c", why.KindNoWorker),
	}}})
	want := []chip{{"a", "retry", "next try in 54s"}, {"b", "wait", "waits for a slot"}, {"c", "failed", "no worker"}, {"d", "done", "done"}}
	if diff := cmp.Diff(want, r.Chips); diff != "" || r.Age < 40*time.Second || r.Age > time.Minute {
		t.Error(r.Age, diff)
	}
	r.explain(reason{time.Now(), why.Verdict{Attempt: 2, Stage: 1}})
	if diff := cmp.Diff(want, r.Chips); diff != "" {
		t.Error("a reason of another attempt:", diff)
	}
}

// TestReasons: reasons are queried once for all pages, in the background, and not again during the pause.
func TestReasons(t *testing.T) {
	t.Parallel()
	var r reasons
	asked, answer := make(chan []string, 2), make(chan error)
	ask := func(_ context.Context, ids []string) ([]why.Verdict, error) {
		asked <- ids
		if err := <-answer; err != nil {
			return nil, err
		}
		return []why.Verdict{{ID: "1", Kind: why.KindPaused}}, nil
	}
	if found := r.of([]string{"1"}, ask); len(found) != 0 { // it does not wait for long
		t.Errorf("%v", found)
	}
	if ids := <-asked; len(ids) != 1 {
		t.Errorf("%v", ids)
	}
	go func() { answer <- nil }()
	_, done := r.lookup([]string{"1"}, ask)
	<-done
	if found, again := r.lookup([]string{"1", "2"}, ask); found["1"].Kind != why.KindPaused || len(found) != 1 || again != nil {
		t.Errorf("%v, and asks again: %v", found, again != nil)
	}
	r.next = time.Time{}
	go func() { answer <- errors.New("away") }()
	if found := r.of([]string{"1", "2"}, ask); len(found) != 1 { // what is known stays
		t.Errorf("%v", found)
	}
	r.running.Wait()
	if len(asked) != 1 {
		t.Errorf("asked %d times", len(asked))
	}
}

// TestLastNoon: at three o'clock at night, it is that of yesterday.
func TestLastNoon(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 3*60*60)
	for hour, want := range map[int]string{3: "2024-02-29T09:00:00.000Z since yesterday noon", 12: "2024-03-01T09:00:00.000Z since noon", 23: "2024-03-01T09:00:00.000Z since noon"} {
		if noon, text := lastNoon(time.Date(2024, 3, 1, hour, 0, 0, 0, zone)); fieldOf(noon)+" "+text != want {
			t.Errorf("at %d: %s %s", hour, noon, text)
		}
	}
}
