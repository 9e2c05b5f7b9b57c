package show

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
)

// drawn is what bars draw last, without what a terminal obeys.
func drawn(out *written, lines int) []string {
	frames := strings.Split(out.String(), "\x1b[2K") // lines of an earlier frame are cleared
	all := strings.Split(strings.TrimSpace(frames[len(frames)-1]), "\n")
	return all[max(0, len(all)-lines):]
}

// TestBars draws what is known of a job and its listeners, and nothing that is not: how
// much of a query is done.
func TestBars(t *testing.T) {
	t.Parallel()
	var out written
	b := NewBars(&out, 100, 2, false)
	look := func(v inspect.Job) {
		t.Helper()
		if err := b.Show(v); err != nil {
			t.Fatal(err)
		}
	}
	next := time.Date(2024, 6, 1, 12, 0, 0, 0, time.Local)
	first := inspect.Job{ID: "1", Status: report.Processing, Job: "RUN", Stage: 1, Listeners: []inspect.Listener{
		{Name: "plt\x1b[2J", State: "running", Rows: 5, Tries: 2}, {Name: "b", State: "waiting", Next: &next, Why: "cut"}, {Name: "c", State: "waiting"},
	}}
	look(inspect.Job{ID: "1", Status: report.Pending})
	look(inspect.Job{ID: "2", Status: report.Pending})
	look(first)
	b.eventuallyDrawn(t, &out, "<=>")
	first.Listeners = []inspect.Listener{
		{Name: "plt\x1b[2J", State: "done", Rows: 70, Tries: 2}, {Name: "b", State: "running", Rows: 1}, {Name: "c", State: "omitted"},
	}
	look(first)
	look(inspect.Job{ID: "2", Status: report.Failed})
	b.Close()
	lines := drawn(&out, 5)
	for i, parts := range [][]string{
		{"1 ", "PROCESSING, stage 1, 0s"}, {"  plt [2J", "====", "70 rows, try 2, "}, {"  b ", "1 row, 0s"}, {"  c ", "----", "0 rows, omitted"}, {"2 ", "----", "FAILED, "},
	} {
		if !inOrder(lines[i], parts...) {
			t.Errorf("%q lacks %q", lines[i], parts)
		}
	}
	if strings.Contains(out.String(), "%") || strings.Contains(out.String(), "\x1b[3") || !strings.Contains(out.String(), "waits until 12:00:00: cut") {
		t.Errorf("%q", out.String())
	}
}

// eventuallyDrawn waits until something is drawn.
func (b *Bars) eventuallyDrawn(t *testing.T, out *written, part string) {
	t.Helper()
	tick := time.NewTicker(drawEvery)
	defer tick.Stop()
	for range 100 {
		if strings.Contains(out.String(), part) {
			return
		}
		<-tick.C
	}
	t.Fatalf("%q is not drawn: %q", part, out.String())
}

// TestBarsOfManyJobs is one bar, of which the part that has ended is known.
func TestBarsOfManyJobs(t *testing.T) {
	t.Parallel()
	var out written
	b := NewBars(&out, 100, 20, true)
	for range 10 {
		if err := b.Show(inspect.Job{ID: "1", Status: report.Success}); err != nil {
			t.Fatal(err)
		}
		if err := b.Show(inspect.Job{ID: "2", Status: report.Pending}); err != nil {
			t.Fatal(err)
		}
	}
	b.Close()
	if got := drawn(&out, 1)[0]; !inOrder(got, "20 jobs", "[==========..........]", "10 have ended, 0s") {
		t.Errorf("%q", got)
	}
}

// TestTotal is one bar with lines above it.
func TestTotal(t *testing.T) {
	t.Parallel()
	var out written
	b := NewTotal(&out, 100, "31 days", 31, false)
	b.Set(7, "7 done, 24 left")
	b.Say("2024-01-03 has\x1b[2J failed")
	b.Close()
	if got := drawn(&out, 1)[0]; !inOrder(got, "31 days", "[====", "....]", "7 done, 24 left, ") {
		t.Errorf("%q", got)
	}
	if !strings.Contains(out.String(), "2024-01-03 has [2J failed") {
		t.Errorf("%q", out.String())
	}
}

// TestBarsAndPauses: a pause is a line above the bars.
func TestBarsAndPauses(t *testing.T) {
	t.Parallel()
	var out written
	b := NewBars(&out, 100, 1, false)
	v := inspect.Job{ID: "1", Status: report.Pending, Paused: []string{"report/two"}}
	for range 2 {
		if err := b.Show(v); err != nil {
			t.Fatal(err)
		}
	}
	v.Paused, v.Listeners = nil, []inspect.Listener{{Name: "a", Stage: 1, State: "running"}}
	if err := b.Show(v); err != nil {
		t.Fatal(err)
	}
	b.Close()
	if got := out.String(); strings.Count(got, "1 waits: report/two is paused") != 1 || !inOrder(got, "is paused", "1 continues: report/two was resumed") {
		t.Errorf("%q", got)
	}
}

// written is what was drawn so far.
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

// inOrder tells whether these stand one behind the other.
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
