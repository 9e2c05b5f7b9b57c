package trigger

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// TestLost: what runs, waits for its time, or cannot be started is not lost.
func TestLost(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	e := newTrigger(engine.Options{
		Scripts: s, Reports: map[string]*report.Report{"r": oneListener()}, Limits: report.Limits{RecoverAfter: time.Minute},
	})
	running(t, s, "runs", time.Hour)
	for _, member := range []string{"due-later", job.Later{ID: "polled", Attempt: 2, Step: job.StepTrigger}.String()} {
		if err := client.ZAdd(ctx, s.Keys.Delayed, redis.Z{Score: 4e12, Member: member}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	record := func(id string, status report.Status, attempt int64) engine.Record {
		return engine.Record{ID: id, Report: "r", Status: status, Attempt: attempt, Age: time.Hour}
	}
	records := []engine.Record{
		record("pending", report.Pending, 0), record("runs", report.Processing, 1), record("stateless", report.Processing, 1),
		record("due-later", report.Pending, 0), record("polled", report.Pending, 0), record("no id", report.Pending, 0),
		{ID: "stranger", Report: "no-such-report", Status: report.Pending, Age: time.Hour},
	}
	all := map[string]engine.Record{}
	for _, r := range records {
		all[r.ID] = r
	}
	e.Records = lostRecords{all: all}
	left := func(running int, valid error) (Lost, []string, error) {
		e.Limits.RunningJobs = running
		l, err := e.StartLost(ctx, records, "epoch", func(context.Context) error { return valid })
		var ids []string
		for _, r := range l.Left {
			ids = append(ids, r.ID)
		}
		return l, ids, err
	}
	// One job runs, and there is no room for more.
	if l, ids, err := left(1, nil); err != nil || l.Started != 0 || !slices.Equal(ids, []string{"pending", "stateless"}) || !slices.Equal(l.Skipped, []string{"no id", "stranger"}) {
		t.Errorf("%+v %q %v", l, ids, err)
	}
	forgotten := errors.New("forgotten")
	if l, _, err := left(100, forgotten); !errors.Is(err, forgotten) || l.Started != 0 {
		t.Errorf("%+v %v", l, err)
	}
	if err := s.Epoch.Write(ctx, "epoch"); err != nil {
		t.Fatal(err)
	}
	// It takes half of the room.
	if l, ids, err := left(3, nil); err != nil || l.Started != 1 || !slices.Equal(ids, []string{"stateless"}) {
		t.Errorf("%+v %q %v", l, ids, err)
	}
	if l, ids, err := left(100, nil); err != nil || l.Started != 1 || len(ids) != 0 {
		t.Errorf("%+v %q %v", l, ids, err)
	}
	if attempts, _, err := s.Jobs.Attempts(ctx, []string{"pending", "stateless", "due-later", "polled"}); err != nil || !slices.Equal(attempts, []int64{1, 2, 0, 0}) {
		t.Errorf("%v %v", attempts, err)
	}
}

// TestALostDeadlineIsPutBack: without it, no scheduler sees the job.
func TestALostDeadlineIsPutBack(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	e := newTrigger(engine.Options{Scripts: s})
	all := map[string]engine.Record{}
	var records []engine.Record
	for _, id := range []string{"whole", "lost", "late", "broken"} {
		timeout := time.Hour
		if id == "late" {
			timeout = -time.Second
		}
		running(t, s, id, timeout)
		r := engine.Record{ID: id, Report: "r", Status: report.Processing, Attempt: 1, Age: time.Hour}
		records, all[id] = append(records, r), r
	}
	e.Records = lostRecords{all: all}
	before := client.ZRangeWithScores(t.Context(), s.Keys.Deadlines, 0, -1).Val()
	client.ZRem(t.Context(), s.Keys.Deadlines, "lost", "late", "broken")
	client.Del(t.Context(), s.Keys.Wake)
	client.HSet(t.Context(), s.Keys.Job("broken"), "job", "1 RUN no state")
	e.Limits.RunningJobs = 4
	if l, err := e.StartLost(t.Context(), records, "", func(context.Context) error { return nil }); err != nil || l.Started != 0 || l.Failed != 1 {
		t.Errorf("%+v %v", l, err)
	}
	before = slices.DeleteFunc(before, func(z redis.Z) bool { return z.Member == "broken" })
	if diff := cmp.Diff(before, client.ZRangeWithScores(t.Context(), s.Keys.Deadlines, 0, -1).Val()); diff != "" {
		t.Errorf("deadlines (-want +got):\n%s", diff)
	}
	// The scheduler learns of the one that has passed.
	if d, err := s.Clock.Passed(t.Context(), 0, 10); err != nil || !slices.Equal(d.Passed, []string{"late"}) {
		t.Errorf("%+v %v", d, err)
	}
}

// lostRecords take every attempt; their failures were written before.
type lostRecords struct {
	engine.Records
	all map[string]engine.Record
}

func (r lostRecords) Read(context.Context, []string) (map[string]engine.Record, error) {
	return r.all, nil
}

func (lostRecords) Fail(context.Context, engine.Run, string) (bool, error) { return false, nil }

func (r lostRecords) Start(_ context.Context, runs []engine.Run) ([]bool, error) {
	started := make([]bool, len(runs))
	for i, run := range runs {
		row := r.all[run.ID]
		row.Status, row.Attempt = report.Processing, run.Attempt+1
		r.all[run.ID], started[i] = row, true
	}
	return started, nil
}
