package command

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// TestTamperedStates: another program overwrites the states of running jobs. Their records are final
// long before their deadline in an hour, say why, and can be cancelled; what stood in the place of a
// state is in the quarantine, and nothing else is left.
func TestTamperedStates(t *testing.T) {
	t.Parallel()
	s := newStack(t, `
  one:
    timeout: 1h
    listeners: {a: {database: db, query: "SELECT 1 AS k"}}
    join: {key: k}
`, "limits: {recover_after: 1s, lease: 1s}")
	ctx, sc := t.Context(), s.Partitions.First()
	s.must("pause listener a", "") // a running process may take a second to see it
	stop := s.Serve(s.File)
	of := map[string]string{}
	for _, name := range []string{"text", "line", "cancelled", "parameters", "good"} {
		of[name] = s.Records.Insert("one", "")
		s.Jobs.Push(of[name])
		s.Eventually("it runs", func() bool { return s.ask(of[name]).Job == job.StatusRun })
	}
	stop() // so that the command cancels, and not an engine fails, the second one
	for _, name := range []string{"text", "cancelled"} {
		if err := s.Redis.Set(ctx, sc.Keys.Job(of[name]), "not a job", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	s.Redis.HSet(ctx, sc.Keys.Job(of["line"]), "job", "1 RUN")
	s.Redis.HSet(ctx, sc.Keys.Job(of["parameters"]), "parameters", "{no JSON")
	if out, code := s.fanfold("cancel", of["cancelled"]); code != exitOK {
		t.Errorf("%d %s", code, out)
	}
	s.Serve(s.File)
	s.must("resume listener a", "")
	s.Eventually("all records are final", func() bool {
		return s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE status IN ('SUCCESS', 'FAILED', 'CANCELLED')") == 5
	})
	for name, want := range map[string]struct {
		status report.Status
		reason string
	}{
		"text":       {report.Failed, "another program overwrote the job's state in Redis"},
		"line":       {report.Failed, "another program overwrote the job's state in Redis"},
		"cancelled":  {report.Cancelled, ""},
		"parameters": {report.Failed, "JSON"}, // fan-in says it, or a listener whose message is no longer fresh
		"good":       {report.Success, ""},
	} {
		if v := s.Jobs.Wait(of[name])[0]; v.Status != want.status || !strings.Contains(v.Error, want.reason) {
			t.Errorf("%s: %s %q", name, v.Status, v.Error)
		}
	}
	s.Eventually("nothing is left", func() bool {
		keys := s.Redis.Exists(ctx, sc.Keys.Job(of["text"]), sc.Keys.Job(of["line"]), sc.Keys.Job(of["cancelled"]), sc.Keys.Job(of["parameters"])).Val()
		return keys == 0 && s.Redis.ZCard(ctx, sc.Keys.Deadlines).Val() == 0
	})
	for _, name := range []string{"text", "line", "cancelled"} {
		found := 0
		for _, entry := range s.Redis.XRange(ctx, sc.Keys.Quarantined, "-", "+").Val() {
			if entry.Values["stream"] == sc.Keys.Job(of[name]) && strings.Contains(entry.Values["reason"].(string), "not the state of a job") {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%s is %d times in the quarantine", name, found)
		}
	}
	// The key is free again.
	s.must("retry "+of["text"], "")
	if v := s.Jobs.Wait(of["text"])[0]; v.Status != report.Success || v.Attempt != 2 {
		t.Errorf("%+v", v)
	}
}
