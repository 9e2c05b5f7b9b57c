package trigger

import (
	"context"
	"errors"
	"testing"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/step"
)

// failing are records that MySQL changes only after a few tries.
type failing struct {
	engine.Records
	outages int
}

func (r *failing) Fail(context.Context, engine.Run, string) (bool, error) {
	if r.outages--; r.outages >= 0 {
		return false, errors.New("away")
	}
	return true, nil
}

// TestAnEndIsNotedOnce, however often MySQL is asked to change the record.
func TestAnEndIsNotedOnce(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	e, err := engine.New(engine.Options{Redis: client, Scripts: s, Records: &failing{outages: 3}, Consumer: "c"})
	if err != nil {
		t.Fatal(err)
	}
	p := &push{id: "7", record: &engine.Record{ID: "7", Report: "r", Status: report.Pending}, report: &report.Report{Name: "r", Notify: &report.Notify{}}}
	if r := New(e, &files.Files{Engine: e}).carryOut(t.Context(), p, decision{act: actFail, why: "no parameters"}); r.Kind != step.Void {
		t.Fatalf("%+v", r)
	}
	k := s.Keys
	if told, noted, dead := client.XLen(t.Context(), k.Finished).Val(), client.XLen(t.Context(), k.Events).Val(), client.ZCard(t.Context(), k.Dead).Val(); told != 1 || noted != 1 || dead != 1 {
		t.Errorf("%d firings, %d events, %d dead", told, noted, dead)
	}
}
