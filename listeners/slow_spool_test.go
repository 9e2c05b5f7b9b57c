package listeners

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/internal/ask"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/dir"
	"github.com/fanfold/fanfold/spool"
	"github.com/fanfold/fanfold/step"
)

// slowly is a sink of which every call takes a while.
type slowly struct {
	sink.Sink
	takes time.Duration
}

func (s slowly) Create(ctx context.Context, o sink.Object) (sink.Writer, error) {
	if err := step.Wait(ctx, s.takes); err != nil {
		return nil, err
	}
	return s.Sink.Create(ctx, o)
}

func (s slowly) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := step.Wait(ctx, s.takes); err != nil {
		return nil, err
	}
	return s.Sink.Open(ctx, name)
}

// slowSpool returns a spool of which every segment takes a while, and has one chunk.
func slowSpool(t *testing.T, takes time.Duration) *spool.Spool {
	t.Helper()
	d, err := dir.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return spool.New(spool.Options{Sink: slowly{d, takes}, Tag: "abc234", SegmentBytes: 1})
}

// TestASlowSpoolIsNotAway: a segment takes longer than a call of Redis. An error of the source counts meanwhile.
func TestASlowSpoolIsNotAway(t *testing.T) {
	t.Parallel()
	b := prepare(t, minutely, report.Limits{}, func(_ context.Context, _ int64, out *Writer, _ Task) error {
		if err := out.Columns([]dataset.Column{{Name: "c"}}); err != nil {
			return err
		}
		for n := range int64(30_001) { // three chunks
			out.Builder().Int(0, n)
			if err := out.EndRow(); err != nil {
				return err
			}
		}
		return errors.New("no luck")
	})
	large := slowSpool(t, slow+100*time.Millisecond)
	b.run("d", func(o *Options) { o.Spool = large })
	state := b.until("the try has ended", func(s *job.State) bool { return s.Tasks["a"].Error != "" })
	if a := state.Tasks["a"]; a.Tries != 1 || a.Error != "no luck" || a.Blame != job.BlameSource {
		t.Errorf("%d tries, blame %s: %s", a.Tries, a.Blame, a.Error)
	}
}

// TestReadingTheSpoolTakesNoTime of those that the listener's timeout gives a task.
func TestReadingTheSpoolTakesNoTime(t *testing.T) {
	t.Parallel()
	s := slowSpool(t, slow+100*time.Millisecond)
	w := s.Create(spool.Name{Report: "r", ID: "1", Attempt: 1, Listener: "a", Writer: "w"})
	w.Add(1, [][]byte{[]byte("[7]")})
	segment, err := w.Commit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	store, err := s.Open(w.URL()+" "+segment.String(), []string{"c"})
	if err != nil {
		t.Fatal(err)
	}
	task := &task{clock: ask.NewPatience(t.Context(), 500*time.Millisecond, errLate)}
	defer task.clock.Stop()
	chunk, err := task.chunk(task.clock.Context(), store, 0, dataset.Column{Name: "c"})
	if err != nil || string(chunk.Cell(0, 0)) != "7" {
		t.Errorf("%v %v", chunk, err)
	}
	if task.clock.Over() || task.pauses.away > 0 {
		t.Errorf("the task is late: %t, and the spool was away for %s", task.clock.Over(), task.pauses.away)
	}
}
