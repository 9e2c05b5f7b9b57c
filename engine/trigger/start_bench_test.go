package trigger

import (
	"strconv"
	"testing"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
)

// BenchmarkStart measures 100 jobs that start together.
func BenchmarkStart(b *testing.B) {
	s, _ := newScripts(b)
	if err := s.Epoch.Write(b.Context(), "one"); err != nil {
		b.Fatal(err)
	}
	r := &report.Report{Name: "r", Timeout: time.Hour, Stages: []report.Stage{{Listeners: []report.Listener{{Name: "a"}, {Name: "b"}}}}}
	e := newTrigger(engine.Options{Scripts: s, Records: startable{}, Reports: map[string]*report.Report{"r": r}})
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		var pushes []*push
		for range batch {
			n++
			id := strconv.Itoa(n)
			pushes = append(pushes, &push{id: id, record: &engine.Record{ID: id}, report: r})
		}
		if started := e.start(b.Context(), pushes, ""); started != batch {
			b.Fatalf("%d started", started)
		}
	}
}
