package command

import (
	"testing"
	"time"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/engine/recovery"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// TestALostDeadline: a pass restores the deadline of a job that has also lost its message, so that
// the scheduler finds the job and sends the message again.
func TestALostDeadline(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow, "limits: {recover_after: 1s, lease: 1s}")
	often := func(o *recovery.Options) { o.PassEvery = 200 * time.Millisecond }
	if out, code := s.fanfold("pause", "listener", "one"); code != exitOK {
		t.Fatal(out)
	}
	stop := s.Roles.Rebuilding(s.File, often)
	id := s.Records.Insert("slow", "")
	s.Jobs.Push(id)
	s.Eventually("it runs", func() bool { return s.ask(id).Job == job.StatusRun })
	stop()
	keys := s.Partitions.First().Keys
	s.Redis.XTrimMaxLen(t.Context(), keys.Task("one"), 0)
	if n := s.Redis.ZRem(t.Context(), keys.Deadlines, id).Val(); n != 1 {
		t.Fatal("it has no deadline")
	}
	if out, code := s.fanfold("resume", "listener", "one"); code != exitOK {
		t.Fatal(out)
	}
	s.Roles.Rebuilding(s.File, often)
	if v := s.Jobs.Wait(id)[0]; v.Status != report.Success || v.Attempt != 1 {
		t.Errorf("%+v", v)
	}
}
