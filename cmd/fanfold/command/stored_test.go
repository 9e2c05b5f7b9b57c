package command

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/inspect/doctor"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// TestWhatANewerReleaseStored: a process that finds something that a newer release has stored does not
// start, and changes nothing; a command refuses, too. Both name the part, both versions and the remedy.
func TestWhatANewerReleaseStored(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	key := s.Partitions.First().Keys.Version
	stop := s.Serve(s.File)
	s.Jobs.Run("slow", "") // the versions are stored before anything runs
	stop()
	id := s.Records.Insert("slow", "")
	for _, c := range []struct {
		name, part   string
		newer, again func()
		migrate      int // its exit code
	}{
		{"state", "the state in Redis has version 2 (key " + key + ")",
			func() { s.Redis.Set(t.Context(), key, "2", 0) }, func() { s.Redis.Set(t.Context(), key, "1", 0) }, exitOK},
		{"snapshot", `the snapshot in the database has version 2 (table fanfold_meta, name "file_download_record version")`,
			func() {
				s.Records.Exec("UPDATE fanfold_meta SET value = '2' WHERE name = 'file_download_record version' AND value = '1'")
			},
			func() {
				s.Records.Exec("UPDATE fanfold_meta SET value = '1' WHERE name = 'file_download_record version'")
			}, exitOK},
		{"tables", "the layout of the tables in the database has version 9 (table fanfold_migrations)",
			func() { s.Records.Exec("INSERT INTO fanfold_migrations (version_id, needs) VALUES (9, 9)") },
			func() { s.Records.Exec("DELETE FROM fanfold_migrations WHERE version_id = 9") }, exitNewer},
		{"records", "the layout of the tables in the database has version 9 (table file_download_record_migrations)",
			func() {
				s.Records.Exec("INSERT INTO file_download_record_migrations (version_id, needs) VALUES (9, 9)")
			},
			func() { s.Records.Exec("DELETE FROM file_download_record_migrations WHERE version_id = 9") }, exitNewer},
	} {
		c.newer()
		for args, want := range map[string]int{"serve": exitNewer, "submit " + id: exitNewer, "migrate": c.migrate} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // it does not start
			var text bytes.Buffer
			code := run(ctx, append([]string{"-c", s.File}, strings.Fields(args)...), &text, &text)
			cancel()
			out := text.String()
			if code != want {
				t.Errorf("%s: %s: %d %s", c.name, args, code, out)
			}
			for _, says := range []string{c.part, "knows versions up to", "This is fanfold " + version, "upgrade.md"} {
				if want == exitNewer && !strings.Contains(out, says) {
					t.Errorf("%s: %s does not say %q:\n%s", c.name, args, says, out)
				}
			}
		}
		if f := s.finding("stored versions"); f.Result != doctor.Fail || !strings.Contains(f.Detail, c.part) || !strings.Contains(f.Hint, "upgrade.md") {
			t.Errorf("%s: %+v", c.name, f)
		}
		if n := s.Redis.XLen(t.Context(), s.Partitions.First().Keys.Jobs).Val(); n != 0 {
			t.Errorf("%s: the id was pushed", c.name)
		}
		c.again()
	}
	// Steps of a newer release that this one need not know.
	s.Records.Exec("INSERT INTO fanfold_migrations (version_id, needs) VALUES (9, 0)")
	if out, code := s.fanfold("migrate"); code != exitOK || !strings.Contains(out, "a newer release made the tables, and this one can use them") {
		t.Errorf("%d %s", code, out)
	}
	s.Serve(s.File)
	if v := s.Jobs.Run("slow", ""); v.Status != report.Success {
		t.Errorf("%+v", v)
	}
	if f := s.finding("stored versions"); f.Result != doctor.Pass {
		t.Errorf("%+v", f)
	}
}

// TestANewerReleaseStartsBeside: a process that runs stops when a newer release stores a version that it
// does not know, hands its work back, and changes nothing any more. While it stops, it is alive, but not
// ready.
func TestANewerReleaseStartsBeside(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow, "limits: {shutdown_timeout: 4s, lease: 2s}")
	var log written
	addr := e2e.Address(t)
	s.process("-c", s.File, "serve", "--roles", "engine,scheduler")
	c := command("-c", s.File, "serve", "--roles", "listeners", "--admin", addr)
	c.Stdout, c.Stderr = &log, &log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() })
	s.Eventually("ready", func() bool { code, _ := e2e.Get(t, addr, "/readyz"); return code == http.StatusOK })
	id := s.Records.Insert("slow", `{"seconds": 12}`)
	s.Jobs.Push(id)
	s.Eventually("the task is taken", func() bool {
		state, err := s.Partitions.First().Jobs.Read(t.Context(), id)
		return err == nil && state.Tasks["one"].Owner != ""
	})
	s.Redis.Set(t.Context(), s.Partitions.First().Keys.Version, "2", 0)
	s.Eventually("not ready, which names the version", func() bool {
		code, text := e2e.Get(t, addr, "/readyz")
		return code == http.StatusServiceUnavailable && strings.Contains(text, "the state in Redis has version 2")
	})
	if code, text := e2e.Get(t, addr, "/livez"); code != http.StatusOK {
		t.Errorf("a process that hands its work back is alive: %d %s", code, text)
	}
	late := time.AfterFunc(time.Minute, func() { _ = c.Process.Kill() })
	defer late.Stop()
	err := c.Wait()
	if failed, ok := errors.AsType[*exec.ExitError](err); !ok || failed.ExitCode() != exitNewer || !strings.Contains(log.String(), "the state in Redis has version 2") {
		t.Errorf("%v\n%s", err, log.String())
	}
	if state, err := s.Partitions.First().Jobs.Read(t.Context(), id); err != nil || state.Status != "RUN" || state.Attempt != 1 {
		t.Errorf("%+v %v", state, err)
	}
	s.Redis.Set(t.Context(), s.Partitions.First().Keys.Version, "1", 0)
	s.Serve(s.File)
	if v := s.Jobs.Wait(id)[0]; v.Status != report.Success || v.Attempt != 1 {
		t.Errorf("%+v", v)
	}
	s.Jobs.Idle()
}

// TestTheVersionIsStoredAgain: after a loss of Redis's data, every partition has its version again.
func TestTheVersionIsStoredAgain(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	s.File = s.Divided("parts.yaml", 3, e2e.Slow)
	s.Use(s.File)
	addr := e2e.Address(t)
	s.process("-c", s.File, "serve", "--admin", addr, "--roles", "listeners")
	s.Eventually("ready", func() bool { code, _ := e2e.Get(t, addr, "/readyz"); return code == http.StatusOK })
	has := func() bool {
		for _, p := range s.Partitions {
			if s.Redis.Get(t.Context(), p.Keys.Version).Val() != "1" {
				return false
			}
		}
		return true
	}
	if !has() {
		t.Error("a partition has no version after the start")
	}
	if err := s.Partitions.First().Epoch.CheckVersion(t.Context()); err != nil {
		t.Error(err)
	}
	for _, p := range s.Partitions {
		s.Redis.Del(t.Context(), p.Keys.Version)
	}
	s.Eventually("all partitions have it again", has)
	s.Redis.Set(t.Context(), s.Partitions[2].Keys.Version, "nonsense", 0)
	if f := s.finding("stored versions"); f.Result != doctor.Fail || !strings.Contains(f.Detail, "delete it") {
		t.Errorf("%+v", f)
	}
	if err := s.Partitions[2].Epoch.CheckVersion(t.Context()); !errors.Is(err, scripts.ErrBroken) {
		t.Error(err)
	}
}
