package engine

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/report"
)

// failing are records that MySQL changes only after a few tries.
type failing struct {
	Records
	outages int
}

func (r *failing) Fail(context.Context, Run, string) (bool, error) {
	if r.outages--; r.outages >= 0 {
		return false, errors.New("away")
	}
	return true, nil
}

// TestAnEndIsNotedOnce, however often MySQL is asked to change the record.
func TestAnEndIsNotedOnce(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	e := &Engine{o: Options{Scripts: s, Records: &failing{outages: 3}}, log: slog.New(slog.DiscardHandler), jobs: newJobMetrics(nil)}
	p := &push{id: "7", record: &Record{ID: "7", Report: "r", Status: report.Pending}, report: &report.Report{Name: "r", Notify: &report.Notify{}}}
	if r := e.carryOut(t.Context(), p, decision{act: actFail, why: "no parameters"}); r.Kind != step.Void {
		t.Fatalf("%+v", r)
	}
	k := s.Keys
	if told, noted, dead := client.XLen(t.Context(), k.Finished).Val(), client.XLen(t.Context(), k.Events).Val(), client.ZCard(t.Context(), k.Dead).Val(); told != 1 || noted != 1 || dead != 1 {
		t.Errorf("%d firings, %d events, %d dead", told, noted, dead)
	}
}
