package listeners

import (
	"context"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// BenchmarkWriter measures a row of four columns, with its share of the chunk that
// is thrown away.
func BenchmarkWriter(b *testing.B) {
	w := NewWriter(func([]dataset.Column, *dataset.Builder, bool) error { return nil })
	kinds := []report.Kind{report.KindInteger, report.KindText, report.KindInteger, report.KindText}
	var columns []dataset.Column
	for i, kind := range kinds {
		columns = append(columns, dataset.Column{Name: "c" + strconv.Itoa(i), Kind: kind})
	}
	if err := w.Columns(columns); err != nil {
		b.Fatal(err)
	}
	text := []byte("2024-06-01 09:30:00")
	b.ReportAllocs()
	for b.Loop() {
		for i, kind := range kinds {
			if kind == report.KindInteger {
				w.Builder().Int(i, 123456)
			} else {
				w.Builder().Text(i, text)
			}
		}
		if err := w.EndRow(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRunner measures a task of one row from its entry to the barrier, where
// many wait.
func BenchmarkRunner(b *testing.B) {
	client := testmain.SharedRedis(b).Client()
	b.Cleanup(func() { _ = client.Close() })
	name := testmain.Name(b)
	s := scripts.New(scripts.Options{Redis: client, Keys: report.Keys{Prefix: name + ":", Hash: name + "-"}})
	definition := &report.Report{Name: "r", Stages: []report.Stage{{Listeners: []report.Listener{{
		Name: "a", Source: "db", Columns: []string{"c"}, Timeout: time.Minute,
	}}}}}
	runner, err := New(Options{
		Redis: client, Scripts: s, Reports: map[string]*report.Report{"r": definition}, Consumer: "c",
		Limits: report.Limits{Tasks: 64, Lease: time.Minute, ShutdownTimeout: time.Second},
		Sources: map[string]Source{"db": &counting{source: func(_ context.Context, _ int64, out *Writer, _ Task) error {
			if err := out.Columns([]dataset.Column{{Name: "c", Kind: report.KindInteger}}); err != nil {
				return err
			}
			out.Builder().Int(0, 1)
			return out.EndRow()
		}}},
	})
	if err != nil {
		b.Fatal(err)
	}
	jobs := make([]scripts.Start, b.N)
	for i := range jobs {
		jobs[i] = scripts.Start{ID: strconv.Itoa(i), Attempt: 1, Parameters: []byte("{}"), Plan: plan(definition)}
	}
	if _, err := s.Jobs.Start(b.Context(), "", jobs...); err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	var running errgroup.Group
	b.ReportAllocs()
	b.ResetTimer()
	running.Go(func() error { return runner.Run(ctx) })
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if n, err := client.XLen(b.Context(), s.Keys.FanIn).Result(); err != nil || n == int64(b.N) {
			break
		}
	}
	b.StopTimer()
	stop()
	if err := running.Wait(); err != nil {
		b.Fatal(err)
	}
}
