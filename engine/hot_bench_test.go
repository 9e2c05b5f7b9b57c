package engine

import (
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/engine/sink"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

func benchScripts(b *testing.B) *scripts.Scripts {
	b.Helper()
	client := testmain.SharedRedis(b).Client()
	b.Cleanup(func() { _ = client.Close() })
	name := testmain.Name(b)
	return scripts.New(scripts.Options{Redis: client, Keys: scripts.Keys{Prefix: name + ":", Hash: name + "-"}})
}

// BenchmarkStart measures 100 jobs that start together.
func BenchmarkStart(b *testing.B) {
	s := benchScripts(b)
	if err := s.WriteEpoch(b.Context(), "one"); err != nil {
		b.Fatal(err)
	}
	e := &Engine{o: Options{Scripts: s, Records: startable{}}, log: slog.New(slog.DiscardHandler)}
	r := &report.Report{Name: "r", Timeout: time.Hour, Stages: []report.Stage{{Listeners: []report.Listener{{Name: "a"}, {Name: "b"}}}}}
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		var pushes []*push
		for range triggerBatch {
			n++
			id := strconv.Itoa(n)
			pushes = append(pushes, &push{id: id, record: &Record{ID: id}, report: r})
		}
		if started := e.start(b.Context(), pushes, ""); started != triggerBatch {
			b.Fatalf("%d started", started)
		}
	}
}

// BenchmarkFile measures the file of a job with two datasets of 100 numbers, up to
// its commit.
func BenchmarkFile(b *testing.B) {
	s, ctx := benchScripts(b), b.Context()
	config, err := config.Load("bench.yaml", []byte(`
redis: redis://127.0.0.1/0
databases: {db: {dsn: "u@tcp(127.0.0.1:1)/x"}}
records: {database: db}
sink: file:///nowhere
reports:
  r:
    stages: [{listeners: [{name: a, database: db, query: "SELECT k FROM t"}, {name: b, database: db, query: "SELECT k FROM t"}]}]
    join: {key: k}
`), config.Environment{})
	if err != nil {
		b.Fatal(err)
	}
	r := config.Reports["r"]
	dir, err := sink.NewDir(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer dir.Close()
	e := &Engine{o: Options{Scripts: s, Sink: dir}, log: slog.New(slog.DiscardHandler)}
	if _, err := s.Start(ctx, scripts.Start{ID: "1", Attempt: 1, Report: "r", Definition: r.Hash(), Timeout: time.Hour, Listeners: []string{"a", "b"}}); err != nil {
		b.Fatal(err)
	}
	for _, l := range []string{"a", "b"} {
		task := scripts.Task{ID: "1", Attempt: 1, Listener: l, Owner: "o", Lease: time.Minute}
		if _, _, err := s.Take(ctx, task, []string{r.Hash()}); err != nil {
			b.Fatal(err)
		}
		columns := []dataset.Column{{Name: "k", Kind: report.KindInteger}}
		builder := dataset.NewBuilder(columns)
		for i := range int64(100) {
			builder.Int(0, i)
			if err := builder.EndRow(); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := s.Complete(ctx, task, scripts.Chunk{Rows: 100, Columns: columns, Names: []string{"k"}, Fields: builder.Fields()}, 0); err != nil {
			b.Fatal(err)
		}
	}
	_, state, err := s.Claim(ctx, scripts.Claim{ID: "1", Attempt: 1, Worker: "w", Lease: time.Minute, Known: []string{r.Hash()}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		w, made, err := e.write(ctx, r, state)
		if err != nil || made.Rows != 100 {
			b.Fatal(made.Rows, err)
		}
		w.Abort()
	}
}
