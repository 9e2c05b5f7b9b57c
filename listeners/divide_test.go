package listeners

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/internal/ask"
	"github.com/fanfold/fanfold/internal/spooled"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink/dir"
	"github.com/fanfold/fanfold/spool"
	"github.com/fanfold/fanfold/step"
)

// divider is a Divider that finds the numbers from 0 to 39,999, or none if it is empty.
type divider struct {
	Source
	snapshot string
	empty    bool
	few      bool                                        // only one connection sees the snapshot
	width    int64                                       // of the numbers; 0: 40,000
	before   func(ctx context.Context, part int64) error // it is called before a part is read
	columns  func(part int64) []dataset.Column

	mu    sync.Mutex
	asked int     // connections
	read  []int64 // the first numbers of the ranges
}

func (d *divider) Divide(_ context.Context, task Task, n int) (Division, error) {
	d.asked = n
	task.Begin()
	return division{d}, nil
}

// division is the Division of a divider.
type division struct{ *divider }

func (d division) Connections() int {
	if d.few {
		return 1
	}
	return d.asked
}
func (d division) Snapshot() string { return d.snapshot }
func (d division) Close()           {}

func (d division) Ends(context.Context) (least, greatest int64, ok bool, err error) {
	if d.width == 0 {
		d.width = 40_000
	}
	return 0, d.width - 1, !d.empty, nil
}

func (d division) Read(ctx context.Context, _ int, of report.Range, out *Writer) error {
	from, to := int64(0), d.width
	if of.From != nil {
		from = *of.From
	}
	if of.To != nil {
		to = *of.To
	}
	d.mu.Lock()
	d.read = append(d.read, from)
	d.mu.Unlock()
	if d.before != nil {
		if err := d.before(ctx, from); err != nil {
			return err
		}
	}
	columns := []dataset.Column{{Name: "c"}}
	if d.columns != nil {
		columns = d.columns(from)
	}
	if err := out.Columns(columns); err != nil {
		return err
	}
	for n := from; n < to && !d.empty; n++ {
		out.Builder().Int(0, n)
		if err := out.EndRow(); err != nil {
			return err
		}
	}
	return nil
}

// parts returns the first numbers of the ranges that were read since the last call, in order.
func (d *divider) parts() []int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer func() { d.read = nil }()
	slices.Sort(d.read)
	return d.read
}

// inParts prepares a task that is read in four parts, with a spool.
func inParts(t *testing.T, d *divider, snapshot report.Snapshot, change func(*Options)) (b *bundle, s *spool.Spool, run func() (stop func())) {
	t.Helper()
	place, err := dir.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s = spool.New(spool.Options{Sink: place, Tag: "abc234", SegmentBytes: 1})
	b = prepare(t, minutely, report.Limits{SpoolBytes: 1 << 30, Tasks: 1}, nil)
	b.runner.o.Reports["r"].Stages[0].Listeners[0].Divide = &report.Divide{By: "c", Parts: 4, Snapshot: snapshot}
	return b, s, func() (stop func()) {
		return b.run("d", func(o *Options) {
			o.Spool, o.Sources = s, map[string]Source{"db": d}
			o.Slots = NewSlots(o.Limits, map[string]int{"db": 4})
			if change != nil {
				change(o)
			}
		})
	}
}

// numbers are the values of a dataset in the spool.
func (b *bundle) numbers(s *spool.Spool, task job.TaskState) (all []int64) {
	b.t.Helper()
	store, err := spooled.Open(s, "a", task)
	if err != nil {
		b.t.Fatal(err)
	}
	for chunk := range task.Chunks {
		fields, err := store.Get(b.t.Context(), []string{"c"}, chunk)
		if err != nil {
			b.t.Fatal(err)
		}
		decoded, err := dataset.DecodeChunk([]dataset.Column{{Name: "c"}}, fields)
		if err != nil {
			b.t.Fatal(err)
		}
		for row := range decoded.Rows() {
			var n int64
			if err := json.Unmarshal(decoded.Cell(0, row), &n); err != nil {
				b.t.Fatal(err)
			}
			all = append(all, n)
		}
	}
	return all
}

// isWhole checks that a dataset has all numbers in order.
func (b *bundle) isWhole(s *spool.Spool, task job.TaskState) {
	b.t.Helper()
	all := b.numbers(s, task)
	for i, n := range all {
		if int64(i) != n {
			b.t.Fatalf("row %d has %d", i, n)
		}
	}
	if len(all) != 40_000 || task.Rows != 40_000 {
		b.t.Errorf("%d rows, and the state says %d", len(all), task.Rows)
	}
}

var starts = []int64{0, 10_000, 20_000, 30_000}

// TestParts: the rows of all ranges are one dataset, in the order of the ranges, whichever is read first.
func TestParts(t *testing.T) {
	t.Parallel()
	last := make(chan struct{})
	d := &divider{snapshot: "log 7", before: func(_ context.Context, part int64) error {
		if part == 0 {
			<-last
		} else if part == starts[3] {
			defer close(last)
		}
		return nil
	}}
	b, s, run := inParts(t, d, report.SnapshotSame, nil)
	run()
	state := b.until("done", func(s *job.State) bool { return s.Status == job.StatusReady })
	a := state.Tasks["a"]
	b.isWhole(s, a)
	if got := d.parts(); !slices.Equal(got, starts) || d.asked != 2 { // half of the connections
		t.Errorf("%d connections read parts %d", d.asked, got)
	}
	if ticket, err := spool.ParseTicket(a.At); err != nil || len(ticket) != 4 || ticket.Bytes() != state.Spooled || a.Bytes != 0 ||
		a.Parts != 4 || a.Snapshot != "log 7" || a.Tries != 1 || state.Bytes != 0 {
		t.Errorf("%v %v, %d bytes in the spool: %+v", ticket, err, state.Spooled, a)
	}
}

// TestAnotherTryReadsTheOtherParts, unless the server shows other rows.
func TestAnotherTryReadsTheOtherParts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		snapshot  report.Snapshot
		then      string // the name of the second snapshot
		wants     []int64
		of, first string
	}{
		"the same snapshot":    {report.SnapshotSame, "one", starts[2:], "one", "one"},
		"another snapshot":     {report.SnapshotSame, "two", starts, "two", "one"},
		"approximate":          {report.SnapshotApproximate, "two", starts[2:], "", "one"},
		"approximate, unnamed": {report.SnapshotApproximate, "", starts[2:], "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, log := &divider{snapshot: c.first}, &testmain.Log{}
			d.before = func(_ context.Context, part int64) error {
				if part == starts[2] {
					return errors.New("cut")
				}
				return nil
			}
			b, s, run := inParts(t, d, c.snapshot, func(o *Options) {
				o.Slots, o.Log = NewSlots(o.Limits, map[string]int{"db": 2}), slog.New(slog.NewTextHandler(log, nil))
			})
			stop := run()
			state := b.until("a try has failed", func(s *job.State) bool { return s.Tasks["a"].Error != "" })
			stop()
			failed := time.Now()
			if got := d.parts(); !slices.Equal(got, starts[:3]) || state.Tasks["a"].Rows != 20_000 ||
				state.Tasks["a"].PartsRead != 2 || state.InSpool() < 1000 || state.Spooled != 0 {
				t.Errorf("the first try has read %d, and the state says: %+v", got, state.Tasks["a"])
			}
			d.snapshot, d.before = c.then, nil
			<-time.After(10 * time.Millisecond)
			run()
			b.comes()
			state = b.until("done", func(s *job.State) bool { return s.Status == job.StatusReady })
			b.isWhole(s, state.Tasks["a"])
			if got := d.parts(); !slices.Equal(got, c.wants) || state.Tasks["a"].Snapshot != c.of || state.Tasks["a"].Parts != 4 {
				t.Errorf("the second try has read %d: %+v", got, state.Tasks["a"])
			}
			// The file has the rows of the first try, of its moment, unless they are those of the second one.
			if a := state.Tasks["a"]; a.DoneAt.Add(-a.Took).Before(failed) != (c.snapshot == report.SnapshotApproximate) {
				t.Errorf("it is of %s, and the first try has ended at %s", a.DoneAt.Add(-a.Took), failed)
			}
			said, anew := strings.Join(log.Lines("reads all parts anew"), ""), len(c.wants) == len(starts)
			if anew && !strings.Contains(said, "was=one now=two") || !anew && said != "" {
				t.Errorf("the log says %q", said)
			}
		})
	}
}

// TestPartsThatWereLost are read again, although the memo has them.
func TestPartsThatWereLost(t *testing.T) {
	t.Parallel()
	d := &divider{snapshot: "one"}
	b, s, run := inParts(t, d, report.SnapshotApproximate, nil)
	run()
	a := b.until("done", func(s *job.State) bool { return s.Status == job.StatusReady }).Tasks["a"]
	d.parts()
	outcome, err := b.s.Folds.Reopen(t.Context(), scripts.Reopen{Message: scripts.Message{ID: "1", Attempt: 1}, Listener: "a", At: a.At, Error: "gone"})
	if outcome != scripts.OK || err != nil {
		t.Fatal(outcome, err)
	}
	again := b.until("done again", func(s *job.State) bool { return s.Status == job.StatusReady }).Tasks["a"]
	b.isWhole(s, again)
	if got := d.parts(); !slices.Equal(got, starts) || again.At == a.At {
		t.Errorf("the listener has read %d: %s", got, again.At)
	}
}

// TestFewNumbers are not worth parts: the rows lie in Redis, as without them.
func TestFewNumbers(t *testing.T) {
	t.Parallel()
	for _, d := range []*divider{{width: 19_999}, {empty: true}} {
		b, _, run := inParts(t, d, report.SnapshotApproximate, func(o *Options) {
			place, err := dir.New(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			o.Spool = spool.New(spool.Options{Sink: place, Tag: "abc234", Above: 1 << 20})
		})
		run()
		a := b.until("done", func(s *job.State) bool { return s.Status == job.StatusReady }).Tasks["a"]
		if got := d.parts(); !slices.Equal(got, []int64{0}) || a.At != "" || a.Parts != 0 || a.Rows == 0 != d.empty {
			t.Errorf("%d parts: %+v", got, a)
		}
	}
}

// TestPartsWithoutRows: the numbers of the rows had gone when the parts were read.
func TestPartsWithoutRows(t *testing.T) {
	t.Parallel()
	d := &divider{}
	d.before = func(context.Context, int64) error { d.mu.Lock(); defer d.mu.Unlock(); d.empty = true; return nil }
	b, _, run := inParts(t, d, report.SnapshotApproximate, func(o *Options) { o.Slots = NewSlots(o.Limits, map[string]int{"db": 1}) })
	run()
	a := b.until("done", func(s *job.State) bool { return s.Status == job.StatusReady }).Tasks["a"]
	if a.Rows != 0 || a.Chunks != 1 || a.At != "" || len(d.parts()) != 4 {
		t.Errorf("%+v", a)
	}
}

// TestPartsOfOtherColumns: the table was altered between two parts. The next try begins anew.
func TestPartsOfOtherColumns(t *testing.T) {
	t.Parallel()
	d := &divider{snapshot: "one", columns: func(part int64) []dataset.Column {
		if part == 0 {
			return []dataset.Column{{Name: "c", Bits: 32}}
		}
		return []dataset.Column{{Name: "c"}}
	}}
	b, s, run := inParts(t, d, report.SnapshotSame, nil)
	stop := run()
	state := b.until("a try has failed", func(s *job.State) bool { return s.Tasks["a"].Error != "" })
	stop()
	if !strings.Contains(state.Tasks["a"].Error, "columns of the query have changed") {
		t.Error(state.Tasks["a"].Error)
	}
	d.columns = nil
	d.parts()
	run()
	b.comes()
	b.isWhole(s, b.until("done", func(s *job.State) bool { return s.Status == job.StatusReady }).Tasks["a"])
	if got := d.parts(); !slices.Equal(got, starts) {
		t.Errorf("the second try has read %d", got)
	}
}

// TestTooManyBytesInParts fails the job before all of them are read.
func TestTooManyBytesInParts(t *testing.T) {
	t.Parallel()
	d := &divider{}
	b, _, run := inParts(t, d, report.SnapshotApproximate, func(o *Options) {
		o.Limits.SpoolBytes, o.Slots = 1000, NewSlots(o.Limits, map[string]int{"db": 1})
	})
	run()
	state := b.until("failing", func(s *job.State) bool { return s.Status == job.StatusFailing })
	if !strings.Contains(state.Reason, "limits.spool_bytes") || len(d.parts()) == 4 {
		t.Errorf("%s", state.Reason)
	}
	if state.Tasks["a"].Memo == nil {
		t.Error("the state does not tell that the job has segments")
	}
}

// TestTooManyBytesInOnePart fails the job before the part ends.
func TestTooManyBytesInOnePart(t *testing.T) {
	t.Parallel()
	d := &divider{width: 400_000}
	b, s, run := inParts(t, d, report.SnapshotApproximate, func(o *Options) {
		o.Limits.SpoolBytes, o.Slots = 1000, NewSlots(o.Limits, map[string]int{"db": 1})
	})
	run()
	b.until("failing", func(s *job.State) bool { return s.Status == job.StatusFailing })
	n := 0
	for _, err := range s.Sink().List(t.Context(), "") {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != 1 {
		t.Errorf("%d segments were written", n)
	}
}

// TestPartsOfAnotherColumn: divide.by was changed between two tries, which does not make another definition.
func TestPartsOfAnotherColumn(t *testing.T) {
	t.Parallel()
	d := &divider{}
	d.before = func(_ context.Context, part int64) error {
		if part == starts[2] {
			return errors.New("cut")
		}
		return nil
	}
	b, s, run := inParts(t, d, report.SnapshotApproximate, func(o *Options) { o.Slots = NewSlots(o.Limits, map[string]int{"db": 2}) })
	divide := b.runner.o.Reports["r"].Stages[0].Listeners[0].Divide
	divide.By = "b"
	stop := run()
	b.until("a try has failed", func(s *job.State) bool { return s.Tasks["a"].Error != "" })
	stop()
	divide.By, d.before = "c", nil
	d.parts()
	run()
	b.comes()
	b.isWhole(s, b.until("done", func(s *job.State) bool { return s.Status == job.StatusReady }).Tasks["a"])
	if got := d.parts(); !slices.Equal(got, starts) {
		t.Errorf("the second try has read %d", got)
	}
}

// TestConnectionsOfOtherSnapshots are not used, and other tasks can have them.
func TestConnectionsOfOtherSnapshots(t *testing.T) {
	t.Parallel()
	var all *Slots
	d := &divider{few: true}
	d.before = func(context.Context, int64) error {
		if n := len(all.source("db").taken); n != 1 {
			t.Errorf("%d connections are taken", n)
		}
		return nil
	}
	b, _, run := inParts(t, d, report.SnapshotApproximate, func(o *Options) { all = o.Slots })
	run()
	b.until("done", func(s *job.State) bool { return s.Status == job.StatusReady })
	// The task gives its connection back after its end is in Redis.
	b.until("no connection is taken", func(*job.State) bool { return len(all.source("db").taken) == 0 })
	if d.asked != 2 {
		t.Errorf("%d connections were asked for", d.asked)
	}
}

// slowRedis is a hook after which every command takes a while.
type slowRedis struct{ takes time.Duration }

func (slowRedis) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s slowRedis) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := step.Wait(ctx, s.takes); err != nil {
			return err
		}
		return next(ctx, cmd)
	}
}

func (s slowRedis) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if err := step.Wait(ctx, s.takes); err != nil {
			return err
		}
		return next(ctx, cmds)
	}
}

// TestListingPartsTakesNoTime of those that the listener's timeout gives a task.
func TestListingPartsTakesNoTime(t *testing.T) {
	t.Parallel()
	b, s, _ := inParts(t, &divider{}, report.SnapshotApproximate, nil)
	b.runner.o.Spool = s
	b.client.AddHook(slowRedis{200 * time.Millisecond})
	task := b.claimed()
	task.clock = ask.NewPatience(t.Context(), 300*time.Millisecond, errLate)
	defer task.clock.Stop()
	d := &divided{task: task, parts: parts{Columns: []dataset.Column{{Name: "c"}}, Read: []string{"file:///s/x= 1,1,1,00000000", noRows}}}
	if err := d.complete(task.clock.Context()); err != nil || task.clock.Over() {
		t.Errorf("%v, and the task is late: %t", err, task.clock.Over())
	}
	if state := b.until("done", func(s *job.State) bool { return s.Status == job.StatusReady }); state.Tasks["a"].Parts != 2 {
		t.Errorf("%+v", state.Tasks["a"])
	}
}

// TestPausesTogether: time in which two parts wait for the spool is away once.
func TestPausesTogether(t *testing.T) {
	t.Parallel()
	task := &task{clock: ask.NewPatience(t.Context(), time.Hour, errLate)}
	defer task.clock.Stop()
	at := place{errSpool, "the spool", "away", time.Millisecond}
	began := time.Now()
	one, other := task.pause(&at), task.pause(&at)
	<-time.After(50 * time.Millisecond)
	one()
	other()
	if took := time.Since(began); task.pauses.away < 50*time.Millisecond || task.pauses.away > took {
		t.Errorf("the spool was away for %s in %s", task.pauses.away, took)
	}
}

// TestAPartThatWaits does not stop the time limit of the others; all of them together do.
func TestAPartThatWaits(t *testing.T) {
	t.Parallel()
	for pauses, late := range map[int]bool{1: true, 2: false} {
		task := &task{clock: ask.NewPatience(t.Context(), 100*time.Millisecond, errLate)}
		count(task, 0, 2)
		for range pauses {
			defer task.pause(&inSpool)()
		}
		<-time.After(300 * time.Millisecond)
		if task.clock.Over() != late {
			t.Errorf("%d of 2 parts wait: the task is late: %t", pauses, !late)
		}
		task.clock.Stop()
	}
}
