package engine

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// TestLost: what runs, waits for its time, or cannot be started is not lost.
func TestLost(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	e := &Engine{
		o:   Options{Scripts: s, Reports: map[string]*report.Report{"r": {Name: "r"}}, Limits: config.Limits{Grace: time.Minute}},
		log: slog.New(slog.DiscardHandler),
	}
	start(t, s, "runs", "d", time.Hour, "a")
	for _, member := range []string{"due-later", scripts.Later{ID: "polled", Attempt: 2, Step: scripts.StepTrigger}.String()} {
		if err := client.ZAdd(ctx, s.Delayed(), redis.Z{Score: 4e12, Member: member}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	record := func(id string, status report.Status, attempt int64) Record {
		return Record{ID: id, Report: "r", Status: status, Attempt: attempt, Age: time.Hour}
	}
	records := []Record{
		record("pending", report.Pending, 0), record("runs", report.Processing, 1), record("stateless", report.Processing, 1),
		record("due-later", report.Pending, 0), record("polled", report.Pending, 0), record("no id", report.Pending, 0),
		{ID: "stranger", Report: "no-such-report", Status: report.Pending, Age: time.Hour},
	}
	lost, skipped, err := e.Lost(ctx, records)
	var ids []string
	for _, r := range lost {
		ids = append(ids, r.ID)
	}
	if err != nil || !slices.Equal(ids, []string{"pending", "stateless"}) || !slices.Equal(skipped, []string{"no id", "stranger"}) {
		t.Errorf("lost %q, skipped %q, %v", ids, skipped, err)
	}
	if lost, skipped, err := e.Lost(ctx, records[5:6]); err != nil || len(lost) != 0 || len(skipped) != 1 {
		t.Errorf("lost %v, skipped %q, %v", lost, skipped, err)
	}
}
