package command

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/report"
)

// changing is a report in two versions with the same listener.
func changing(column string) string {
	return `
  changing:
    parameters: {seconds: {type: decimal, default: "0"}}
    listeners:
      one: {database: db, query: "SELECT 1 AS k, SLEEP(:seconds) AS ` + column + `"}
      two: {database: db, query: "SELECT 2 AS k2 FROM DUAL WHERE 1 IN (:one.k)"}
    join: {key: k, listeners: [one, {name: two, key: k2, type: left}]}
`
}

// TestADefinitionThatChanges rolls out a new version of a report while a job of the old version
// runs: the job continues with its own definition, in the process that has it.
func TestADefinitionThatChanges(t *testing.T) {
	t.Parallel()
	s := newStack(t, changing("old"), "limits: {lease: 2s}")
	stopOld := s.Serve(s.File)
	running := s.Records.Insert("changing", `{"seconds": 3}`)
	s.Jobs.Push(running)
	s.Eventually("the old job runs", func() bool {
		state, err := s.Partitions.First().Jobs.Read(t.Context(), running)
		return err == nil && state.Tasks["one"].Owner != ""
	})
	next := s.Write("new.yaml", changing("new"), "limits: {lease: 2s}")
	s.Serve(next)
	// Both versions run now: every new job has one of them and ends with it.
	var ids []string
	for range 20 {
		ids = append(ids, s.Records.Insert("changing", ""))
	}
	s.Jobs.Push(ids...)
	headers := map[string]int{}
	for _, v := range s.Jobs.Wait(ids...) {
		headers[strings.Split(s.Files.Content(v), "\r\n")[0]]++
	}
	if headers["k,old"]+headers["k,new"] != len(ids) {
		t.Errorf("headers of the files: %v", headers)
	}
	if v := s.Jobs.Wait(running)[0]; !strings.HasPrefix(s.Files.Content(v), "k,old\r\n") || v.Attempt != 1 {
		t.Errorf("%+v", v)
	}
	stopOld()
	if got := s.Jobs.Succeed("changing", ""); !strings.HasPrefix(got, "k,new\r\n") {
		t.Errorf("after the roll-out: %q", got)
	}
	s.Jobs.Idle()
}

// TestARemovedReport removes a report while one of its jobs waits: the entries of the job are
// handed back until its deadline, which fails the record with the reason.
func TestARemovedReport(t *testing.T) {
	t.Parallel()
	with := `
  gone:
    timeout: 6s
    retry: 0
    listeners: {one: {database: db, timeout: 5s, query: "SELECT 1 AS k"}}
`
	s := newStack(t, with, "limits: {lease: 2s}")
	stop := s.Serve(s.File)
	if got := s.Jobs.Succeed("gone", ""); got != "k\r\n1\r\n" {
		t.Fatalf("%q", got)
	}
	stop()
	// Another report has the listener's name, so its stream is read.
	without := s.Write("without.yaml", strings.ReplaceAll(with, "  gone:", "  other:"), "limits: {lease: 2s}")
	id := s.Records.Insert("gone", "")
	s.startOnly(id)
	s.Serve(without)
	v := s.Jobs.Wait(id)[0]
	if v.Status != report.Failed || v.Error != "deadline passed in stage 1, waiting for one" {
		t.Errorf("%+v", v)
	}
	s.Jobs.Idle()
}

// TestAJobThatWasOnlyNotSettled: a job whose record is final is settled even by a process that does
// not have its definition.
func TestAJobThatWasOnlyNotSettled(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow, "limits: {lease: 1s}")
	ctx, sc := t.Context(), s.Partitions.First()
	id := s.Records.Insert("slow", "")
	s.States.ReadyWith(id, "gone")
	s.States.Publish(id, "dead")
	s.Records.Exec("UPDATE file_download_record SET status = 'SUCCESS', attempt = 1, file = 'file:///there.csv' WHERE id = ?", id)
	s.Serve(s.File)
	s.Eventually("settled", func() bool {
		state, err := sc.Jobs.Read(ctx, id)
		return err == nil && state.Status == "SUCCESS" && state.File == "file:///there.csv"
	})
	s.Jobs.Idle()
}

// TestADeadWorkersTask: the task of a dead worker is taken over after its lease has ended, and the
// file has no data of the first try.
func TestADeadWorkersTask(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow, "limits: {lease: 1s}")
	id := s.Records.Insert("slow", `{"seconds": 3}`)
	victim := s.process("-c", s.File, "serve")
	s.Jobs.Push(id)
	var first string
	s.Eventually("the task is taken", func() bool {
		state, err := s.Partitions.First().Jobs.Read(t.Context(), id)
		if err == nil {
			first = state.Tasks["one"].Owner
		}
		return first != ""
	})
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	s.Serve(s.File)
	v := s.Jobs.Wait(id)[0]
	if got := s.Files.Content(v); got != "k,v\r\n1,0\r\n" {
		t.Errorf("%q", got)
	}
	t.Logf("ended %v after the kill, with a query of 3 s and a lease of 1 s", time.Since(killed))
	if v.Listeners[0].Tries != 2 || v.Attempt != 1 {
		t.Errorf("%+v", v)
	}
	s.Jobs.Idle()
}

// TestARollingDeployOfADefinition replaces two processes one after the other by ones with a changed
// report, while jobs run: those whose definition is gone start anew with the new one, and none waits for
// its deadline, in an hour.
func TestARollingDeployOfADefinition(t *testing.T) {
	t.Parallel()
	const limits = "limits: {lease: 2s, recover_after: 2s, shutdown_timeout: 1s}"
	s := newStack(t, changing("old"), limits)
	next := s.Write("new.yaml", changing("new"), limits)
	start := func(config string) (stop func()) {
		p := s.process("-c", config, "serve")
		return func() {
			_ = p.Process.Signal(os.Interrupt)
			if err := p.Wait(); err != nil {
				t.Errorf("serve after an interrupt: %v", err)
			}
		}
	}
	var ids []string
	push := func(seconds string) {
		for range 4 {
			id := s.Records.Insert("changing", `{"seconds": "`+seconds+`"}`)
			ids = append(ids, id)
			s.Jobs.Push(id)
		}
	}
	first, second := start(s.File), start(s.File)
	push("0")
	push("12") // longer than the old processes live
	s.Eventually("the long jobs run", func() bool {
		n, err := s.Partitions.First().Jobs.Running(t.Context())
		return err == nil && n == 4
	})
	first()
	start(next)
	push("1")
	second()
	start(next)
	push("0")
	anew := 0
	for _, v := range s.Jobs.Wait(ids...) {
		header, _, _ := strings.Cut(s.Files.Content(v), "\r\n")
		if header != "k,new" && (header != "k,old" || v.Attempt != 1) {
			t.Errorf("job %s, attempt %d: %q", v.ID, v.Attempt, header)
		}
		if v.Attempt > 1 {
			anew++
		}
	}
	if anew < 4 {
		t.Errorf("%d jobs have started anew: the long ones have not lost their definition", anew)
	}
	s.Jobs.Idle()
	if wrong := e2e.Agree(s.Stack); wrong != "" {
		t.Error(wrong)
	}
}
