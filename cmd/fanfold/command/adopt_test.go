package command

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/inspect/why"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// waits makes jobs of a report wait for a process with their definition.
const waits = "\n    on_change: wait"

// mended is a report whose query sleeps for this long: too long in the first version, 0 in the
// fixed one.
func mended(seconds, more string) string {
	return `
  mended:` + more + `
    timeout: 1h
    retry: {retries: 6, delay: 1s}
    listeners: {one: {database: db, timeout: 1s, query: "SELECT 1 AS k, SLEEP(` + seconds + `) AS v"}}
`
}

// stuck starts a job whose query fails. It returns the id after one try has failed and the process
// has stopped.
func (s *stack) stuck() string {
	s.Helper()
	stop := s.Serve(s.File)
	id := s.Records.Insert("mended", "")
	s.Jobs.Push(id)
	s.Eventually("a try has failed", func() bool {
		state, err := s.Partitions.First().Jobs.Read(s.Context(), id)
		return err == nil && strings.Contains(state.Tasks["one"].Error, "timed out")
	})
	stop()
	return id
}

// TestAJobWhoseDefinitionIsGone: if no process has the definition of a running job, the commands
// say so, the log says so once, and fanfold adopt restarts the job exactly once.
func TestAJobWhoseDefinitionIsGone(t *testing.T) {
	t.Parallel()
	s := newStack(t, mended("20", waits), "limits: {lease: 1s, running_jobs: 1}")
	id := s.stuck()
	s.File = s.Write("new.yaml", mended("0", waits), "limits: {lease: 1s, running_jobs: 1}")
	c := command("-c", s.File, "serve")
	var log written
	c.Stdout, c.Stderr = &log, &log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	v := s.because(id, why.KindNoDefinition, "fanfold adopt "+id, "fanfold adopt --report mended")
	if len(v.Upcoming) != 1 || !strings.Contains(v.Upcoming[0].What, "deadline") {
		t.Errorf("%+v", v.Upcoming)
	}
	for _, wrong := range []string{"delay run", "is tried again"} {
		if text, _ := s.fanfold("why", id); strings.Contains(text, wrong) {
			t.Errorf("%q is said:\n%s", wrong, text)
		}
	}
	for _, args := range [][]string{{"status", id}, {"retry", id}, {"doctor"}} {
		if text, _ := s.fanfold(args...); !strings.Contains(text, "fanfold adopt") {
			t.Errorf("%v:\n%s", args, text)
		}
	}
	s.Eventually("the log says what to do", func() bool { return strings.Contains(log.String(), "fanfold adopt --report mended") })
	// Meanwhile its entry is handed back every second.
	handed := s.Redis.XInfoStream(t.Context(), s.Partitions.First().Keys.Task("one")).Val().EntriesAdded
	s.Eventually("it was handed back five times more", func() bool {
		return s.Redis.XInfoStream(t.Context(), s.Partitions.First().Keys.Task("one")).Val().EntriesAdded >= handed+5
	})
	for _, line := range []string{"handed back", "fanfold adopt"} {
		if n := strings.Count(log.String(), line); n != 1 {
			t.Errorf("%q is logged %d times:\n%s", line, n, log.String())
		}
	}
	var group sync.WaitGroup
	var outs [2]bytes.Buffer
	for i := range outs {
		group.Go(func() { run(t.Context(), []string{"-c", s.File, "adopt", id}, &outs[i], &outs[i]) })
	}
	group.Wait()
	if both := outs[0].String() + outs[1].String(); strings.Count(both, "adopted, attempt 2") != 1 {
		t.Errorf("%s", both)
	}
	if v := s.Jobs.Wait(id)[0]; s.Files.Content(v) != "k,v\r\n1,0\r\n" || v.Attempt != 2 {
		t.Errorf("%+v", v)
	}
	s.Jobs.Idle()
}

// TestAdoptAll: adopt --all restarts exactly the jobs whose definition is gone, and refuses the
// others with a remedy.
func TestAdoptAll(t *testing.T) {
	t.Parallel()
	s := newStack(t, mended("20", waits)+e2e.Slow[1:], "limits: {lease: 1s}")
	id := s.stuck()
	old := s.File
	s.File = s.Write("new.yaml", mended("0", waits)+e2e.Slow[1:], "limits: {lease: 1s}")
	s.Serve(s.File)
	running := s.Records.Insert("slow", `{"seconds": 60}`)
	s.Jobs.Push(running)
	s.Eventually("it runs", func() bool { return s.ask(running).Kind == "running" })
	pending := s.Records.Insert("mended", "")
	refused := func(want string, code int, args ...string) {
		t.Helper()
		if out, got := s.fanfold(append([]string{"adopt"}, args...)...); got != code || !strings.Contains(out, want) {
			t.Errorf("adopt %v: %d %s", args, got, out)
		}
	}
	refused("fanfold submit "+pending, exitFailure, pending)
	refused("runs with the definition of this configuration", exitFailure, running)
	refused("is not in table", exitNotFound, "999999")
	refused("give ids, --report NAME or --all", exitUsage)
	refused("give ids, --report NAME or --all", exitUsage, id, "--all")
	refused("Available: mended, slow", exitUsage, "--report", "mendet")
	s.Eventually("nobody has the old definition", func() bool { return s.ask(id).Kind == why.KindNoDefinition })
	// No process has this configuration.
	third := s.Write("third.yaml", mended("0.1", "")+e2e.Slow[1:], "limits: {lease: 1s}")
	if out, code := s.fanfold("adopt", id, "-c", third); code != exitFailure || !strings.Contains(out, "no process has the definition of report mended in this configuration") {
		t.Errorf("%d %s", code, out)
	}
	if out, code := s.fanfold("adopt", "--all"); code != exitOK || !strings.Contains(out, "adopted, attempt 2") || strings.Count(out, "adopted") != 1 {
		t.Errorf("%d %s", code, out)
	}
	if v := s.Jobs.Wait(id)[0]; v.Status != report.Success || v.Attempt != 2 {
		t.Errorf("%+v", v)
	}
	refused("fanfold retry "+id, exitFailure, id)
	// A process that has the definition continues its jobs.
	s.process("-c", old, "serve", "--roles", "listeners")
	if out, code := s.fanfold("cancel", running); code != exitOK {
		t.Errorf("%d %s", code, out)
	}
	state := scripts.Start{ID: pending, Attempt: 1, Parameters: []byte("{}"), Plan: scripts.Plan{Report: "mended", Definition: s.Config.Reports["mended"].Hash(), Timeout: time.Hour, Listeners: "nobody"}}
	if _, err := s.Partitions.First().Jobs.Start(t.Context(), "", state); err != nil {
		t.Fatal(err)
	}
	s.Records.Exec("UPDATE file_download_record SET status = 'PROCESSING', attempt = 1 WHERE id = ?", pending)
	s.Eventually("the old definition is there again", func() bool {
		seen, err := s.Partitions.First().Definitions.Seen(t.Context())
		return err == nil && seen.Live(scripts.DefinitionMember("mended", state.Definition))
	})
	refused("it continues there", exitFailure, pending)
}

// TestOnChangeRestart: a job whose definition is gone is restarted without a command.
func TestOnChangeRestart(t *testing.T) {
	t.Parallel()
	s := newStack(t, mended("20", ""), "limits: {lease: 1s, recover_after: 1s}")
	id := s.stuck()
	s.Serve(s.Write("new.yaml", mended("0", ""), "limits: {lease: 1s, recover_after: 1s}"))
	if v := s.Jobs.Wait(id)[0]; s.Files.Content(v) != "k,v\r\n1,0\r\n" || v.Attempt != 2 {
		t.Errorf("%+v", v)
	}
	s.Jobs.Idle()
}

// TestAnAdoptThatDied: if adopt dies after it has changed the record and before it has written the
// state, the job still runs after the grace time.
func TestAnAdoptThatDied(t *testing.T) {
	t.Parallel()
	s := newStack(t, mended("20", ""), "limits: {lease: 1s, recover_after: 1s}")
	id := s.stuck()
	if started, err := s.Process.Records.Start(t.Context(), []engine.Run{{ID: id, Attempt: 1}}); err != nil || !started[0] {
		t.Fatal(started, err)
	}
	s.Serve(s.Write("new.yaml", mended("0", ""), "limits: {lease: 1s, recover_after: 1s}"))
	if v := s.Jobs.Wait(id)[0]; s.Files.Content(v) != "k,v\r\n1,0\r\n" || v.Attempt != 3 {
		t.Errorf("%+v", v)
	}
	s.Jobs.Idle()
}

// TestAdoptOfLongParameters: adopt refuses a job whose parameters are longer than
// limits.parameter_bytes, and does not run it without them.
func TestAdoptOfLongParameters(t *testing.T) {
	t.Parallel()
	noted := func(seconds string) string {
		return strings.Replace(mended(seconds, "\n    parameters: {note: {type: string, default: none}}"), "SELECT 1 AS k", "SELECT :note AS k", 1)
	}
	s := newStack(t, noted("20"), "limits: {lease: 1s}")
	id := s.stuck()
	s.File = s.Write("new.yaml", noted("0"), "limits: {lease: 1s}")
	s.Serve(s.File)
	s.Records.Exec(`UPDATE file_download_record SET parameters = CONCAT('{"note": "', REPEAT('x', 70000), '"}')`)
	s.because(id, why.KindNoDefinition)
	out, code := s.fanfold("adopt", id)
	if code != exitFailure || !strings.Contains(out, "limits.parameter_bytes") {
		t.Errorf("%d %s", code, out)
	}
	var attempt int
	if err := s.DB.QueryRow("SELECT attempt FROM file_download_record").Scan(&attempt); err != nil || attempt != 1 {
		t.Errorf("attempt %d, %v", attempt, err)
	}
}

// TestAdoptOfWhatChangesMeanwhile: adopt --report skips jobs that end or continue after they were
// listed, reports a start that Redis refused, and adopts the others.
func TestAdoptOfWhatChangesMeanwhile(t *testing.T) {
	t.Parallel()
	s := newStack(t, mended("0", ""))
	s.Serve(s.File)
	ctx := t.Context()
	start := func(id, definition string, attempt int64) {
		t.Helper()
		job := scripts.Start{ID: id, Attempt: attempt, Parameters: []byte("{}"), Plan: scripts.Plan{Report: "mended", Definition: definition, Timeout: time.Hour, Listeners: "nobody"}}
		if outcomes, err := s.Partitions.First().Jobs.Start(ctx, "", job); err != nil || outcomes[0] != scripts.OK {
			t.Fatal(outcomes, err)
		}
	}
	var ids []string
	for _, definition := range []string{"old", "taken", "old", "old"} {
		id := s.Records.Insert("mended", "")
		s.Records.Exec("UPDATE file_download_record SET status = 'PROCESSING', attempt = 1 WHERE id = ?", id)
		start(id, definition, 1)
		ids = append(ids, id)
	}
	s.Records.Exec("UPDATE file_download_record SET status = 'SUCCESS' WHERE id = ?", ids[2])
	s.Eventually("a process has the new definition", func() bool {
		seen, err := s.Partitions.First().Definitions.Seen(ctx)
		return err == nil && seen.Live(scripts.DefinitionMember("mended", s.Config.Reports["mended"].Hash()))
	})
	// Adopt blocks on the record of the first job, after it has listed all of them.
	tx, err := s.DB.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, "SELECT id FROM file_download_record WHERE id = ? FOR UPDATE", ids[0]); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	code := make(chan int, 1)
	go func() { code <- run(ctx, []string{"-c", s.File, "adopt", "--report", "mended"}, &out, &out) }()
	s.Eventually("it is held up", func() bool {
		return s.Records.Number("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = ? AND INFO LIKE 'UPDATE%file_download_record%'", s.Schema) == 1
	})
	start(ids[0], "another", 2)
	announce := func() {
		if err := s.Partitions.First().Definitions.Announce(ctx, []string{scripts.DefinitionMember("mended", "taken")}); err != nil {
			t.Error(err)
		}
	}
	announce()
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	ended := -1
	s.Eventually("it ends", func() bool {
		announce()
		select {
		case ended = <-code:
			return true
		default:
			return false
		}
	})
	if ended != exitOK {
		t.Errorf("code %d", ended)
	}
	for i, want := range []string{"adopted, attempt 2, but not yet in Redis", "continues: a process has its definition", "has ended: SUCCESS", "adopted, attempt 2"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("record %s: no %q in\n%s", ids[i], want, out.String())
		}
	}
	if v := s.Jobs.Wait(ids[3])[0]; v.Status != report.Success || v.Attempt != 2 {
		t.Errorf("%+v", v)
	}
}
