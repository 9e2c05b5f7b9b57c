package command

import (
	"regexp"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

const pauseReports = `
  two:
    retry: 0
    timeout: 3s
    listeners: {
      first: {database: db, timeout: 1s, query: "SELECT 1 AS k"},
      second: {database: db, timeout: 1s, query: "SELECT 1 AS k, 2 AS v"}}
    join: {key: k}
  runs:
    deadline_during_pause: runs
    retry: 0
    timeout: 2s
    listeners: {second: {database: db, timeout: 1s, query: "SELECT 1 AS k, 2 AS v"}}
  external:
    listeners: {service: {kind: external, columns: [k], silence: 30s}}
  other:
    listeners: {first: {database: db, query: "SELECT 1 AS k"}}
`

// must runs a command and fails the test unless it succeeds and prints this text.
func (s commands) must(command, want string) {
	s.Helper()
	if out, code := s.fanfold(strings.Fields(command)...); code != exitOK || !strings.Contains(out, want) {
		s.Fatalf("fanfold %s: %d, not with %q: %s", command, code, want, out)
	}
}

// TestPauseListener: while a listener is paused, no process starts its tasks and no try is used.
// The deadline is extended, unless the report has deadline_during_pause: runs.
func TestPauseListener(t *testing.T) {
	t.Parallel()
	s := newStack(t, pauseReports)
	s.Serve(s.File)
	s.must("pause listener second", "listener/second")
	s.must("pause listener second", "runs, two") // which share it
	// A process may take up to a second to see it.
	var id string
	s.Eventually("a task waits while the other one is done", func() bool {
		id = s.Records.Insert("two", "")
		s.Jobs.Push(id)
		var state *job.State
		s.Eventually("its other listener is done", func() bool {
			var err error
			state, err = s.Partitions.First().Jobs.Read(t.Context(), id)
			return err == nil && state.Tasks["first"].Done
		})
		return state.Status == job.StatusRun && state.Tasks["second"].Owner == "" && !state.Tasks["second"].Done
	})
	s.must("status "+id, "listener second has been paused since ")
	s.must("why "+id, "the listener has been paused since")
	s.must("pause ls", "listener/second")
	s.must("doctor -o json", "listener second has been paused since ")
	watched, code := s.start("watch", id)
	s.Eventually("the pause is shown", func() bool { return strings.Contains(watched.String(), id+" waits: listener/second is paused") })
	state, err := s.Partitions.First().Jobs.Read(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	// Its deadline passes and is extended.
	first := state.Deadline
	s.Eventually("its deadline has moved", func() bool {
		state, err = s.Partitions.First().Jobs.Read(t.Context(), id)
		return err == nil && state.Deadline.After(first)
	})
	if task := state.Tasks["second"]; state.Status != job.StatusRun || task.Tries != 0 || task.Owner != "" {
		t.Errorf("%+v", state)
	}
	if v := s.Jobs.Run("runs", ""); v.Status != report.Failed || v.Error != "deadline passed in stage 1, waiting for second (paused)" {
		t.Errorf("%+v", v)
	}
	s.must("resume listener second", "true")
	if got := s.Files.Content(s.Jobs.Wait(id)[0]); got != "k,v\r\n1,2\r\n" {
		t.Errorf("%q", got)
	}
	if got := code(); got != exitOK || strings.Count(watched.String(), "is paused") != 1 || !inOrder(watched.String(), "is paused", "continues: listener/second", "SUCCESS") {
		t.Errorf("%d %s", got, watched)
	}
	s.must("resume listener second", "false")
	s.must("doctor -o json", "nothing is paused")
	s.Jobs.Idle()
	for _, name := range []string{"third", "service"} {
		if out, code := s.fanfold("pause", "listener", name); code != exitUsage || !strings.Contains(out, name) {
			t.Errorf("%s: %d %s", name, code, out)
		}
	}
}

// TestPauseSource: while a database is paused, no process starts a query of it, and everything says why, by whom and
// until when. The pause ends at its time.
func TestPauseSource(t *testing.T) {
	t.Parallel()
	s := withCommands(e2e.NewAloneIn(t, 2, nil, pauseReports))
	s.must("pause source db --for 1h --reason overloaded", "overloaded")
	s.must("pause source db --until 2999-01-02T03:04:05Z --reason busy", "other, runs, two")
	s.Serve(s.File)
	var ids []string
	for range 4 {
		ids = append(ids, s.Records.Insert("two", ""))
	}
	s.Jobs.Push(ids...)
	s.Eventually("they have started", func() bool {
		return s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE status = 'PROCESSING'") == len(ids)
	})
	for _, command := range []string{"why " + ids[0], "status " + ids[0], "doctor -o json"} {
		out, _ := s.fanfold(strings.Fields(command)...)
		for _, want := range []string{"database db has been paused since ", " by ", " until 2999-01-0", ": busy"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q: %s", command, want, out)
			}
		}
	}
	s.must("pause ls", "source/db")
	for _, id := range ids {
		state, err := s.Partitions.Of(id).Jobs.Read(t.Context(), id)
		if err != nil || state.Tasks["first"].Rows+state.Tasks["second"].Rows > 0 {
			t.Errorf("%+v %v", state, err)
		}
	}
	for _, p := range s.Partitions { // as if its time had come
		text := s.Redis.HGet(t.Context(), p.Keys.Holds, "source/db").Val()
		changed := regexp.MustCompile(`"until":\d+`).ReplaceAllString(text, `"until":1`)
		if changed == text {
			t.Fatal(text)
		}
		s.Redis.HSet(t.Context(), p.Keys.Holds, "source/db", changed)
	}
	for _, v := range s.Jobs.Wait(ids...) {
		if v.Status != report.Success {
			t.Errorf("%+v", v)
		}
	}
	s.Eventually("the pause is removed", func() bool {
		n := int64(0)
		for _, p := range s.Partitions {
			n += s.Redis.Exists(t.Context(), p.Keys.Holds).Val()
		}
		return n == 0
	})
	for _, command := range []string{"pause source gone", "pause source db --for 1h --until 2999-01-02T03:04:05Z",
		"pause report two --until 2020-01-02T03:04:05Z", "pause source db --for x"} {
		if out, code := s.fanfold(strings.Fields(command)...); code != exitUsage {
			t.Errorf("%s: %d %s", command, code, out)
		}
	}
}

// TestPauseReport: the ids of a paused report wait without an attempt and do not delay other jobs.
// No rebuild starts them, and a cancelled one is not pushed again.
func TestPauseReport(t *testing.T) {
	t.Parallel()
	s := newStack(t, pauseReports, "limits: {recover_after: 1s}")
	s.must("pause report two", "report/two")
	s.Serve(s.File)
	ids := []string{s.Records.Insert("two", ""), s.Records.Insert("two", ""), s.Records.Insert("two", ""), s.Records.Insert("two", "")}
	s.Jobs.Push(ids[:3]...)
	waiting := s.Partitions.First().Keys.Waiting("two")
	s.Eventually("they wait", func() bool { return s.Redis.ZCard(t.Context(), waiting).Val() == 3 })
	if v := s.Jobs.Run("other", ""); v.Status != report.Success {
		t.Errorf("%+v", v)
	}
	s.must("status "+ids[0], "report two has been paused since ")
	s.must("why "+ids[0], "has been paused since")
	s.must("pause ls", "report/two")
	s.must("cancel "+ids[1], "cancelled")
	// The rebuild of another process, for which they are older than the grace time.
	s.Records.Exec("UPDATE file_download_record SET updated_at = NOW() - INTERVAL 1 HOUR WHERE status = 'PENDING'")
	s.Serve(s.File)
	if v := s.Jobs.Run("other", ""); v.Status != report.Success {
		t.Errorf("%+v", v)
	}
	if n := s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE report = 'two' AND attempt > 0"); n != 0 {
		t.Errorf("%d have an attempt", n)
	}
	s.must("resume report two", "report/two") // the number of waiting ids depends on the rebuild
	s.Jobs.Push(ids[3])
	for _, v := range s.Jobs.Wait(ids[0], ids[2], ids[3]) {
		if v.Status != report.Success || v.Attempt != 1 {
			t.Errorf("%+v", v)
		}
	}
	s.Jobs.Idle()
}

// TestAResumeThatIsInterrupted: the waiting ids are pushed even if resume is killed.
func TestAResumeThatIsInterrupted(t *testing.T) {
	t.Parallel()
	s := newStack(t, pauseReports)
	s.Serve(s.File)
	s.must("pause report two", "report/two")
	s.Eventually("a push waits", func() bool {
		s.Jobs.Push(s.Records.Insert("two", ""))
		return s.Redis.ZCard(t.Context(), s.Partitions.First().Keys.Waiting("two")).Val() > 0
	})
	if err := s.Redis.HDel(t.Context(), s.Partitions.First().Keys.Holds, scripts.PausedReport("two")).Err(); err != nil {
		t.Fatal(err)
	}
	s.Eventually("all are done", func() bool {
		return s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE status <> 'SUCCESS'") == 0
	})
}

// TestAPauseOutlivesRedis: a pause, like a due time, survives a loss of Redis.
func TestAPauseOutlivesRedis(t *testing.T) {
	t.Parallel()
	s := newStack(t, pauseReports)
	s.Serve(s.File)
	s.must("pause listener first", "listener/first")
	s.must("pause report two", "report/two")
	s.Records.InSnapshot(2)
	s.Server.FlushAll()
	s.Eventually("they are paused again", func() bool {
		found, err := s.Partitions.Holds(t.Context())
		return err == nil && len(found) == 2
	})
}
