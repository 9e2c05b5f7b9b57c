package trigger

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// TestIDsDoNotOvertake: a free slot of a report goes to the id that has waited longest, not to one that has just been
// pushed.
func TestIDsDoNotOvertake(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx, r := t.Context(), oneListener()
	r.Running = 1
	e := newTrigger(engine.Options{
		Redis: client, Scripts: s, Partitions: scripts.Partitions{s}, Records: startable{}, Consumer: "c",
		Reports: map[string]*report.Report{r.Name: r},
	})
	take := func(id string) bool {
		t.Helper()
		p := &push{id: id, report: r, record: &engine.Record{ID: id, Report: r.Name, Status: report.Pending}}
		return len(e.slots.take(ctx, []*push{p})) == 1
	}
	if !take("runs") || take("first") {
		t.Fatal("not one job runs")
	}
	if err := s.Limits.ReleaseJobSlots(ctx, r.Name, "runs"); err != nil {
		t.Fatal(err)
	}
	if take("later") {
		t.Error("it runs before the one that waits")
	}
	client.ZAddXX(ctx, s.Keys.Waiting(r.Name), redis.Z{Score: float64(time.Now().Add(time.Minute).UnixMilli()), Member: "later"})
	if err := e.slots.releaseQueued(ctx, r); err != nil {
		t.Fatal(err)
	}
	if !take("first") {
		t.Error("the one that has waited longest does not run")
	}
	if err := s.Limits.ReleaseJobSlots(ctx, r.Name, "first"); err != nil {
		t.Fatal(err)
	}
	if err := e.slots.releaseQueued(ctx, r); err != nil {
		t.Fatal(err)
	}
	if !take("later") {
		t.Error("the last one does not run")
	}
	if err := s.Limits.ReleaseJobSlots(ctx, r.Name, "later"); err != nil {
		t.Fatal(err)
	}
	if !take("new") {
		t.Error("nothing waits, and an id does not run")
	}
}
