package command

import (
	"testing"

	"github.com/fanfold/fanfold/inspect/why"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// TestWhatRedisHasLost: jobs whose messages or data were deleted by hand succeed long before their
// deadline in an hour, in the same attempt if only the message was lost. Duplicate messages do not
// affect other jobs.
func TestWhatRedisHasLost(t *testing.T) {
	t.Parallel()
	s := newStack(t, `
  one:
    timeout: 1h
    listeners: {a: {database: db, query: "SELECT 1 AS k"}}
    join: {key: k}
  two:
    timeout: 1h
    listeners: {b: {database: db, query: "SELECT 1 AS k"}}
    join: {key: k}
`, "limits: {recover_after: 1s, lease: 1s}")
	ctx, sc := t.Context(), s.Partitions.First()
	// Before the process, which may take a second to see a pause.
	for _, listener := range []string{"a", "b"} {
		if out, code := s.fanfold("pause", "listener", listener); code != exitOK {
			t.Fatal(out)
		}
	}
	s.Serve(s.File)
	message, data, double := s.Records.Insert("one", ""), s.Records.Insert("one", ""), s.Records.Insert("two", "")
	s.Jobs.Push(message, data, double)
	for _, id := range []string{message, data, double} {
		s.Eventually("it runs", func() bool { return s.ask(id).Job == job.StatusRun })
	}
	s.Redis.XTrimMaxLen(ctx, sc.Keys.Task("a"), 0)
	s.Redis.Del(ctx, sc.Keys.Job(data))
	if v := s.ask(data); v.Kind != why.KindLost && v.Kind != why.KindPolling && v.Kind != why.KindStateless && v.Kind != why.KindDelayed {
		t.Errorf("%+v", v)
	}
	for range 3 {
		m := scripts.Message{ID: double, Attempt: 1}
		if outcome, err := sc.Streams.Resend(ctx, m, "b", scripts.Entry{Stream: sc.Keys.Task("b")}); outcome != scripts.OK || err != nil {
			t.Fatal(outcome, err)
		}
	}
	for _, listener := range []string{"a", "b"} {
		if out, code := s.fanfold("resume", "listener", listener); code != exitOK {
			t.Fatal(out)
		}
	}
	for id, attempt := range map[string]int64{message: 1, data: 2, double: 1} {
		v := s.Jobs.Wait(id)[0]
		if v.Status != report.Success || v.Attempt != attempt {
			t.Errorf("%+v, not SUCCESS in attempt %d", v, attempt)
		}
	}
	s.Eventually("no entry is left", func() bool {
		return s.Redis.XLen(ctx, sc.Keys.Task("a")).Val()+s.Redis.XLen(ctx, sc.Keys.Task("b")).Val()+s.Redis.XLen(ctx, sc.Keys.FanIn).Val()+s.Redis.XLen(ctx, sc.Keys.FanInLarge).Val() == 0
	})
	for _, e := range s.Redis.XRange(ctx, sc.Keys.Events, "-", "+").Val() {
		if e.Values["event"] == "finished" && e.Values["id"] == double && e.Values["status"] != string(report.Success) {
			t.Errorf("%v", e.Values)
		}
	}
	if n := s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE status = 'SUCCESS'"); n != 3 {
		t.Errorf("%d records are SUCCESS", n)
	}
}
