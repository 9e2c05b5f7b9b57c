package trigger

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// newLaned returns a trigger whose partition has slots for that many jobs.
func newLaned(t *testing.T, slots int, r *report.Report, records engine.Records) *Trigger {
	t.Helper()
	client := testmain.SharedRedis(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	name := testmain.Name(t)
	of := &report.Lanes{RunningJobs: slots}
	s := scripts.New(scripts.Options{Redis: client, Keys: report.Keys{Prefix: name + ":", Hash: name + "-"}, Lanes: of})
	e, err := engine.New(engine.Options{
		Redis: client, Scripts: s, Partitions: scripts.Partitions{s}, Records: records, Consumer: "c",
		Reports: map[string]*report.Report{r.Name: r}, Limits: report.Limits{RunningJobs: slots, Lanes: of},
	})
	if err != nil {
		t.Fatal(err)
	}
	return New(e, &files.Files{Engine: e})
}

// seek gives ids slots or parks them, in the order of their requests, and tells how many have one.
func seek(t *testing.T, e *Trigger, r *report.Report, ids ...string) (admitted int) {
	t.Helper()
	var all []scripts.Seeker
	for i, id := range ids {
		all = append(all, scripts.Seeker{ID: id, Age: time.Hour - time.Duration(i)*time.Minute, Report: r})
	}
	a, err := e.Scripts.Lanes.Admit(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	for _, ok := range a.Admitted {
		if ok {
			admitted++
		}
	}
	return admitted
}

// ending are records that note which of them end.
type ending struct {
	lostRecords
	ended *[]string
}

func (e ending) Cancel(_ context.Context, run engine.Run, _ string) (bool, error) {
	*e.ended = append(*e.ended, run.ID)
	return true, nil
}

// TestWhatRunsIsNotReplaced: a newer request replaces an older one that waits, but not one that has had its turn since
// the script that admits has found it waiting.
func TestWhatRunsIsNotReplaced(t *testing.T) {
	t.Parallel()
	r := oneListener()
	r.NewestOnly = true
	var ended []string
	all := map[string]engine.Record{}
	for id, status := range map[string]report.Status{"runs": report.Processing, "waits": report.Pending} {
		all[id] = engine.Record{ID: id, Report: r.Name, Status: status}
	}
	e := newLaned(t, 1, r, ending{lostRecords{all: all}, &ended})
	if n := seek(t, e, r, "runs", "waits"); n != 1 {
		t.Fatalf("%d have slots", n)
	}
	if err := (lanes{e}).replace(t.Context(), []string{"runs", "waits"}); err != nil {
		t.Fatal(err)
	}
	if len(ended) != 1 || ended[0] != "waits" {
		t.Errorf("%v have ended", ended)
	}
	found, err := e.Scripts.Lanes.Entries(t.Context(), "runs", "waits")
	if err != nil || len(found) != 1 || found["runs"].Waits {
		t.Errorf("%v %v", found, err)
	}
}

// stuck are records that do not start.
type stuck struct{ lostRecords }

func (stuck) Start(ctx context.Context, _ []engine.Run) ([]bool, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestABurstIsReadBeforeItStarts: an id that is pushed behind a burst gets its place before those start that have slots.
func TestABurstIsReadBeforeItStarts(t *testing.T) {
	t.Parallel()
	r := oneListener()
	all := map[string]engine.Record{}
	e := newLaned(t, 3*batch/2, r, stuck{lostRecords{all: all}})
	e.Limits.Lease = time.Minute
	for i := range 3 * batch {
		id := strconv.Itoa(i)
		all[id] = engine.Record{ID: id, Report: r.Name, Status: report.Pending}
		if err := e.Scripts.Streams.Push(t.Context(), map[string]string{"id": id}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	for deadline, waits := time.Now().Add(20*time.Second), false; !waits; {
		found, err := e.Scripts.Lanes.Entries(t.Context(), strconv.Itoa(3*batch-1))
		if err != nil || time.Now().After(deadline) {
			t.Fatal("the last id is not read ", err)
		}
		for _, f := range found {
			waits = f.Waits
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestAParkedIDTakesNoSlotOfItsReport: an id that waits for its turn does not keep the slot of its report from one that
// has had its turn.
func TestAParkedIDTakesNoSlotOfItsReport(t *testing.T) {
	t.Parallel()
	r := oneListener()
	r.Running = 1
	e := newLaned(t, 1, r, lostRecords{})
	ctx := t.Context()
	if err := e.Scripts.Gate.Queue(ctx, r.Name, "parked", r.Running); err != nil {
		t.Fatal(err)
	}
	if err := e.slots.releaseQueued(ctx, r); err != nil {
		t.Fatal(err)
	}
	if n := e.Redis.XLen(ctx, e.Scripts.Keys.Jobs).Val(); n != 1 {
		t.Fatalf("%d ids are pushed", n)
	}
	if n := seek(t, e, r, "turn", "parked"); n != 1 {
		t.Fatalf("%d have slots", n)
	}
	p := &push{id: "turn", report: r, record: &engine.Record{ID: "turn", Report: r.Name, Status: report.Pending}}
	if free := e.slots.take(ctx, []*push{p}); len(free) != 1 {
		t.Error("the id that has its turn waits for the one that is parked")
	}
}
