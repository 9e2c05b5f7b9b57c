package listeners

import (
	"testing"
	"time"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// leaves ends a job with a file and one row of listener a, for later jobs.
func (o *outside) leaves(id string) {
	o.t.Helper()
	ctx, definition := o.t.Context(), o.definition()
	p := plan(definition)
	p.Keep = job.KeepOf(definition).String()
	start(o.t, o.s, id, `{"p":1}`, p)
	last := o.client.XRevRangeN(ctx, o.s.Keys.Task("a"), "+", "-", 1).Val()[0]
	task, _ := o.s.Tasks.New(scripts.Message{ID: id, Attempt: 1}, "a",
		scripts.Entry{Stream: o.s.Keys.Task("a"), ID: last.ID, Fields: map[string]string{"of": last.Values["of"].(string)}})
	chunk := scripts.Chunk{Rows: 1, Names: []string{"c", "d"}, Fields: [][]byte{[]byte(`[7]`), []byte(`["old"]`)},
		Columns: []dataset.Column{{Name: "c", Kind: "integer"}, {Name: "d", Kind: "text"}}}
	if outcome, err := task.Complete(ctx, chunk, time.Second); err != nil || outcome != scripts.Already {
		o.t.Fatal(outcome, err)
	}
	_, fold, err := o.s.Folds.Claim(ctx, scripts.Claim{Message: task.Message, Worker: "w", Known: []string{definition.Hash()}})
	if err != nil || fold == nil {
		o.t.Fatal(fold, err)
	}
	if outcomes, err := o.s.Folds.Settle(ctx, scripts.End{Fold: fold, Status: "SUCCESS"}); err != nil || outcomes[0] != scripts.OK {
		o.t.Fatal(outcomes, err)
	}
}

// fallsBack returns the job of an external listener that may use the rows which job 0 has left.
func fallsBack(t *testing.T) *outside {
	o := setupOutside(t, 1, func(o *outside) { o.listener.OnFailure.Stale = time.Hour })
	o.leaves("0")
	return o
}

// TestExternalFallsBack: after its last try, the job has the older rows, and nothing of the tries.
func TestExternalFallsBack(t *testing.T) {
	t.Parallel()
	o := fallsBack(t)
	w := o.reads("w")
	w.says("rows", "number", "0", "rows", `[[1,"new"],[2,"new"]]`)
	w.says("failed", "error", "no such account", "permanent", "1")
	o.wantData([]string{"[7]"}, []string{`["old"]`})
	state, err := o.s.Jobs.Read(t.Context(), "1")
	if a := state.Tasks["a"]; err != nil || a.StaleAt.IsZero() || a.DoneAt.Sub(a.StaleAt) < time.Second || a.Failed != "no such account" {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestFallbackThatCannotBeRead: the job fails for the reason of its listener.
func TestFallbackThatCannotBeRead(t *testing.T) {
	t.Parallel()
	o := fallsBack(t)
	if n := o.client.HDel(t.Context(), o.s.Keys.Good("0"), "a.d").Val(); n != 1 {
		t.Fatal(n)
	}
	o.reads("w").says("failed", "error", "no such account", "permanent", "1")
	state := o.until("failing", func(s *job.State) bool { return s.Status == job.StatusFailing })
	if state.Reason != "listener a: no such account" {
		t.Error(state.Reason)
	}
	o.heard()
	o.ends()
}
