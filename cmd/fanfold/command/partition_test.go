package command

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/step"
)

// TestPartitions runs jobs, timers and commands in four partitions on one server. An id that is
// pushed into another partition is moved to its own.
func TestPartitions(t *testing.T) {
	t.Parallel()
	const jobs = 40
	timers := "timers: {call: {key: \"call-{n}\", append: {stream: called}}}"
	s := newStack(t, e2e.Crowd)
	s.File = s.Divided("four.yaml", 4, e2e.Crowd, timers)
	s.Use(s.File)
	s.Serve(s.File)
	ids := s.crowd.insert(jobs)
	all := map[string]bool{}
	for i, id := range ids { // into each partition by turns
		p := s.Partitions[i%4]
		all[s.Partitions.Of(id).Keys.Prefix] = true
		if i%2 == 0 {
			s.Redis.XAdd(t.Context(), &redis.XAddArgs{Stream: p.Keys.Jobs, Values: []string{"id", id, "reply_to", "replies:my"}})
		} else {
			s.Redis.ZAdd(t.Context(), s.Partitions.Of(id).Keys.Delayed, redis.Z{Score: float64(time.Now().Unix()), Member: id})
		}
	}
	if len(all) != 4 {
		t.Errorf("the ids are of %d partitions", len(all))
	}
	s.Jobs.Wait(ids...)
	if got := s.Receipts.Wait("replies:my", jobs/2); len(got) != jobs {
		t.Errorf("%d receipts of %d pushes", len(got), jobs/2)
	}
	s.Redis.Del(t.Context(), "replies:my")
	s.Jobs.Idle()
	s.crowd.check(jobs)
	for i, p := range s.Partitions {
		n := 0
		for _, e := range s.Redis.XRange(t.Context(), p.Keys.Events, "-", "+").Val() {
			id, _ := e.Values["id"].(string)
			if e.Values["event"] == "finished" {
				n++
			}
			if id != "" && s.Partitions.Of(id) != p {
				t.Errorf("partition %d has the event %v", i, e.Values)
			}
		}
		if n == 0 {
			t.Errorf("no job ended in partition %d", i)
		}
	}
	for i := range 8 {
		if out, code := s.fanfold("timer", "set", fmt.Sprint("call-", i), "--in", "1s"); code != exitOK {
			t.Fatal(out)
		}
	}
	s.Redis.Set(t.Context(), s.Partitions[1].Keys.Timer("call-8"), "", time.Second) // by a service, wherever
	s.Eventually("all timers have fired", func() bool { return s.Redis.XLen(t.Context(), "called").Val() == 9 })
	for _, command := range []string{"doctor", "status 1", "why 1", "list", "dead ls", "delay ls", "timer ls", "quarantine ls", "pause ls"} {
		if out, code := s.fanfold(strings.Fields(command)...); code != exitOK {
			t.Errorf("%s: %d %s", command, code, out)
		}
	}
	if out, code := s.fanfold("pause", "report", "crowd"); code != exitOK {
		t.Fatal(out)
	}
	_ = step.Wait(t.Context(), time.Second) // until all processes know it
	more := s.Records.Insert("crowd", `{"job": 1}`)
	s.Jobs.Push(more)
	s.Eventually("it waits", func() bool {
		return s.Redis.ZCard(t.Context(), s.Partitions.Of(more).Keys.Waiting("crowd")).Val() == 1
	})
	if out, code := s.fanfold("resume", "report", "crowd"); code != exitOK {
		t.Fatal(out)
	}
	s.Jobs.Wait(more)
}

// TestRepartition: repartition moves all waiting work. Before that, no process and no command works
// with the new number of partitions.
func TestRepartition(t *testing.T) {
	t.Parallel()
	timers := "timers: {call: {key: \"call-{n}\", append: {stream: called}}}"
	s := newStack(t, e2e.Crowd, timers) // no rebuild starts what is not pushed yet
	earlier := s.File
	stop := s.Serve(earlier)
	ids := s.crowd.insert(6)
	s.Jobs.Push(ids[:2]...)
	s.Jobs.Wait(ids[:2]...)
	for _, command := range []string{"submit --in 1h 3 4 5", "timer set call-1 --in 1h", "timer set call-2 --in 1h", "timer pause call-2", "pause listener src.a"} {
		if out, code := s.fanfold(strings.Fields(command)...); code != exitOK {
			t.Fatal(command, out)
		}
	}
	_ = step.Wait(t.Context(), time.Second) // until all processes know it
	s.Jobs.Push(ids[5])
	s.Eventually("a job runs", func() bool { return s.Redis.ZCard(t.Context(), s.Partitions.First().Keys.Deadlines).Val() == 1 })
	four := s.Divided("four.yaml", 4, e2e.Crowd, timers, "limits: {recover_after: 1s}")
	if out, code := s.fanfold("-c", four, "serve"); code != exitUsage || !strings.Contains(out, "fanfold repartition") {
		t.Errorf("serve: %d %s", code, out)
	}
	if out, code := s.fanfold("-c", four, "repartition", "--from", earlier); code == exitOK || !strings.Contains(out, "processes still run") {
		t.Errorf("while a process runs: %d %s", code, out)
	}
	stop()
	ids = append(ids, s.Records.Insert("crowd", `{"job": 7}`))
	s.Jobs.Push(ids[6]) // nobody reads it
	if out, code := s.fanfold("-c", four, "repartition", "--from", earlier); code == exitOK || !strings.Contains(out, "1 jobs run") {
		t.Errorf("while a job runs: %d %s", code, out)
	}
	if out, code := s.fanfold("-c", four, "repartition", "--from", earlier, "--restart"); code != exitOK || !strings.Contains(out, "to 4 tagged partitions") {
		t.Fatalf("%d %s", code, out)
	}
	if left := s.Redis.Keys(t.Context(), "fanfold:*").Val(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if out, code := s.fanfold("-c", earlier, "serve"); code != exitUsage || !strings.Contains(out, "fanfold repartition") {
		t.Errorf("serve as before: %d %s", code, out)
	}
	s.Use(four)
	stop = s.Serve(four)
	for command, want := range map[string]string{"delay ls": "3", "timer ls": "call-1", "pause ls": "listener/src.a"} {
		if out, code := s.fanfold(strings.Fields(command)...); code != exitOK || !strings.Contains(out, want) {
			t.Errorf("%s: %d %s", command, code, out)
		}
	}
	for i, p := range s.Partitions {
		if n := s.Redis.HLen(t.Context(), p.Keys.Holds).Val(); n != 1 {
			t.Errorf("partition %d knows %d pauses", i, n)
		}
	}
	for _, command := range []string{"resume listener src.a", "delay run 3 4 5", "timer resume call-2", "timer fire call-1"} {
		if out, code := s.fanfold(strings.Fields(command)...); code != exitOK {
			t.Fatal(command, out)
		}
	}
	for _, v := range s.Jobs.Wait(ids...) {
		if v.Status != report.Success {
			t.Errorf("%+v", v)
		}
	}
	if v := s.Jobs.Wait(ids[5])[0]; v.Attempt != 2 {
		t.Errorf("the job that ran is %+v", v)
	}
	s.Eventually("the timer has fired", func() bool { return s.Redis.XLen(t.Context(), "called").Val() == 1 })
	stop()
	// Other numbers of partitions, which have keys of the same names.
	const later = 30
	for range later {
		id := s.Records.Insert("crowd", `{"job": 1}`)
		if out, code := s.fanfold("submit", "--in", "1h", id); code != exitOK {
			t.Fatal(out)
		}
		if out, code := s.fanfold("timer", "set", "call-"+id, "--in", "1h"); code != exitOK {
			t.Fatal(out)
		}
	}
	queued := s.Records.Insert("crowd", `{"job": 1}`)
	s.Jobs.Push(queued)
	for _, n := range []int{6, 3} {
		earlier := s.File
		s.File = s.Divided(fmt.Sprint(n, ".yaml"), n, e2e.Crowd, timers)
		if out, code := s.fanfold("repartition", "--from", earlier, "--restart"); code != exitOK {
			t.Fatalf("%d %s", code, out)
		}
		s.Use(s.File)
		delayed, timers := 0, 0
		for _, p := range s.Partitions {
			for _, id := range s.Redis.ZRange(t.Context(), p.Keys.Delayed, 0, -1).Val() {
				if delayed++; s.Partitions.Of(id) != p {
					t.Errorf("%s is in %s", id, p.Keys.Prefix)
				}
			}
			timers += int(s.Redis.ZCard(t.Context(), p.Keys.Timers).Val())
		}
		if waits := s.Redis.XLen(t.Context(), s.Partitions.Of(queued).Keys.Jobs).Val(); delayed != later || timers != later+1 || waits != 1 {
			t.Errorf("%d partitions: %d ids, %d timers, %d in the stream", n, delayed, timers, waits)
		}
	}
	s.Serve(s.File)
	s.Jobs.Wait(queued)
}

// TestRepartitionRefusesAnyRole: repartition also refuses to run beside a process that has no
// definitions to announce.
func TestRepartitionRefusesAnyRole(t *testing.T) {
	t.Parallel()
	for _, role := range process.Roles {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			s := newStack(t, e2e.Crowd)
			process := s.process("-c", s.File, "serve", "--roles", role)
			s.Eventually("it runs", func() bool {
				processes, err := s.Partitions.First().Definitions.Processes(t.Context())
				return err == nil && len(processes) == 1
			})
			four := s.Divided("four.yaml", 4, e2e.Crowd)
			if out, code := s.fanfold("-c", four, "repartition", "--from", s.File); code == exitOK || !strings.Contains(out, fmt.Sprintf("-%d-", process.Process.Pid)) {
				t.Errorf("while it runs: %d %s", code, out)
			}
			if err := process.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			_, _ = process.Process.Wait()
			if out, code := s.fanfold("-c", four, "repartition", "--from", s.File); code != exitOK {
				t.Errorf("after its end: %d %s", code, out)
			}
		})
	}
}

// TestListenersOfAProcess divides the listeners of a report between two processes. Doctor and the
// metrics report a listener that no process runs.
func TestListenersOfAProcess(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Crowd)
	if out, code := s.fanfold("serve", "--listeners", "other.*"); code != exitUsage || !strings.Contains(out, "src.a, src.b, src.c") {
		t.Errorf("%d %s", code, out)
	}
	if out, code := s.fanfold("serve", "--roles", "engine", "--listeners", "src.a"); code != exitUsage {
		t.Errorf("%d %s", code, out)
	}
	s.process("-c", s.File, "serve", "--listeners", "src.[ab]")
	ids := s.crowd.insert(3)
	s.Jobs.Push(ids...)
	workers := func(listener string) (n float64) {
		figures, err := s.Inspect.Figures.Read(t.Context())
		for _, f := range figures {
			if f.Name == "tasks_workers" && f.Of == listener {
				n = f.Value
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	s.Eventually("the first stage is done", func() bool {
		return s.Redis.XLen(t.Context(), s.Partitions.First().Keys.Task("src.c")).Val() == 3
	})
	if a, c := workers("src.a"), workers("src.c"); a != 1 || c != 0 {
		t.Errorf("%v and %v workers", a, c)
	}
	const missing = "none of them runs this listener"
	if out, _ := s.fanfold("doctor"); strings.Count(out, missing) != 1 {
		t.Errorf("doctor: %s", out)
	}
	s.process("-c", s.File, "serve", "--roles", "listeners", "--listeners", "src.c")
	s.Jobs.Wait(ids...)
	s.crowd.check(3)
	if c := workers("src.c"); c != 1 {
		t.Errorf("%v workers", c)
	}
	if out, _ := s.fanfold("doctor"); strings.Contains(out, missing) {
		t.Errorf("doctor: %s", out)
	}
}

// TestManyPartitions runs more partitions than a process has connections for short commands by
// default.
func TestManyPartitions(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Crowd)
	s.File = s.Divided("many.yaml", 10*runtime.GOMAXPROCS(0)+4, e2e.Crowd)
	s.Use(s.File)
	s.Serve(s.File)
	ids := s.crowd.insert(10)
	s.Jobs.Push(ids...)
	s.Jobs.Wait(ids...)
	s.crowd.check(10)
}

// TestCommandsWithOtherPartitions: a command with another number of partitions than the processes
// is refused, because it would push where no process reads.
func TestCommandsWithOtherPartitions(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Crowd)
	s.Serve(s.File)
	id := s.crowd.insert(1)[0]
	s.Eventually("the number is noted", func() bool {
		noted, err := s.Process.Records.Partitions(t.Context())
		return err == nil && noted == s.Layout()
	})
	was := s.Layout()
	s.File = s.Divided("four.yaml", 4, e2e.Crowd)
	for _, command := range []string{"retry", "submit", "cancel", "status", "why"} {
		if out, code := s.fanfold(command, id); code != exitUsage || !strings.Contains(out, "jobs were started with "+was+" partitions, but the configuration has 4 tagged") {
			t.Errorf("%s: %d %s", command, code, out)
		}
	}
	if out, _ := s.fanfold("doctor"); !strings.Contains(out, "redis version") {
		t.Errorf("doctor: %s", out)
	}
}

// TestKeysOfAnotherInstallation: a process does not touch keys that belong to the records of
// another installation.
func TestKeysOfAnotherInstallation(t *testing.T) {
	t.Parallel()
	first := newStackAlone(t, nil, e2e.Crowd)
	log := &testmain.Log{}
	stop := first.ServeInto(log)
	first.Eventually("it serves", func() bool { return len(log.Lines("msg=serving")) > 0 })
	second := withCommands(e2e.NewBehind(t, first.Where, 1, e2e.Crowd))
	key := first.Partitions.First().Keys.Installation
	first.Eventually("the keys are claimed", func() bool { return first.Redis.Get(t.Context(), key).Val() == first.Files.Tag() })
	want := "belong to the installation " + first.Files.Tag() + ", and the records to " + second.Files.Tag()
	if out, code := second.fanfold("serve"); code != exitUsage || !strings.Contains(out, want) {
		t.Errorf("%d %s, not %q", code, out, want)
	}
	stop()
	first.Redis.ConfigSet(t.Context(), "maxmemory", "1mb") // so that an existing key cannot be set
	log = &testmain.Log{}
	stop = first.ServeInto(log)
	first.Eventually("it serves", func() bool { return len(log.Lines("msg=serving")) > 0 })
	stop()
	if whose := log.Lines("owner of the keys"); len(whose) > 0 {
		t.Error(whose)
	}
	first.Redis.ConfigSet(t.Context(), "maxmemory", "0")
	first.Redis.Del(t.Context(), key)
	second.Serve(second.File)
	second.Jobs.Wait(func() []string { ids := second.crowd.insert(1); second.Jobs.Push(ids...); return ids }()...)
}
