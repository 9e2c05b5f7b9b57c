package engine

import (
	"context"
	"log/slog"
	runtimemetrics "runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/engine/sink"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// percent is by how much the heap may grow now.
func percent() uint64 {
	sample := []runtimemetrics.Sample{{Name: "/gc/gogc:percent"}}
	runtimemetrics.Read(sample)
	return sample[0].Value.Uint64()
}

// TestPace changes what all of the process has, so it is not parallel.
func TestPace(t *testing.T) {
	before := percent()
	expect := func(want uint64) {
		t.Helper()
		if got := percent(); got != want {
			t.Errorf("the pace is %d, want %d", got, want)
		}
	}
	t.Setenv("GOGC", "")
	var first, second, third pace
	first.read(largeRead - 1)
	expect(before)
	second.read(1) // both together
	expect(largePace)
	third.read(largeRead)
	second.read(largeRead)
	first.end()
	expect(largePace)
	third.end()
	expect(largePace)
	second.end()
	expect(before)
	first.read(largeRead)
	expect(largePace)
	first.end()
	expect(before)
	t.Setenv("GOGC", "80")
	first.read(largeRead)
	expect(before)
	first.end()
	expect(before)
}

// watched is a sink that notes the pace while it is written to.
type watched struct {
	sink.Sink
	paces []uint64
}

type watchedWriter struct {
	sink.Writer
	of *watched
}

func (w *watched) Create(ctx context.Context, o sink.Object) (sink.Writer, error) {
	inner, err := w.Sink.Create(ctx, o)
	return &watchedWriter{inner, w}, err
}

func (w *watchedWriter) Write(b []byte) (int, error) {
	w.of.paces = append(w.of.paces, percent())
	return w.Writer.Write(b)
}

// TestPaceOfAFold is not parallel either. What is stored is small, since it is
// compressed, and has one row.
func TestPaceOfAFold(t *testing.T) {
	t.Setenv("GOGC", "")
	s, _ := newScripts(t)
	columns := []dataset.Column{{Name: "v", Kind: report.KindText}}
	r := &report.Report{
		Name: "r", Stages: []report.Stage{{Listeners: []report.Listener{{Name: "a", Columns: []string{"v"}}}}},
		Join: report.Join{Listeners: []report.Joined{{Listener: "a"}}},
		CSV:  report.CSV{Columns: []report.CSVColumn{{Label: "v", Listener: "a", Column: "v"}}},
	}
	start(t, s, "1", "d", time.Hour, "a")
	b := dataset.NewBuilder(columns)
	b.Text(0, []byte(strings.Repeat("x", largeRead)))
	if err := b.EndRow(); err != nil {
		t.Fatal(err)
	}
	var c dataset.Compressor
	completeWith(t, s, "1", "a", scripts.Chunk{Rows: 1, Columns: columns, Names: []string{"v"}, Fields: c.Fields(b.Fields())})
	f := claim(t, s, "1", scripts.Claim{Worker: "w"})
	dir, err := sink.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	to := &watched{Sink: dir}
	e := &Engine{o: Options{Scripts: s, Sink: to}, log: slog.New(slog.DiscardHandler)}
	before := percent()
	m, err := e.make(t.Context(), r, f)
	if err != nil || m.Rows != 1 {
		t.Fatal(m.Rows, err)
	}
	m.abort()
	if len(to.paces) == 0 || to.paces[len(to.paces)-1] != largePace {
		t.Errorf("the pace was %v, want %d", to.paces, largePace)
	}
	if after := percent(); after != before {
		t.Errorf("the pace is %d after the fold, and was %d", after, before)
	}
}
