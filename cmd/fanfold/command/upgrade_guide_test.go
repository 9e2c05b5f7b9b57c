package command

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
)

// shell runs the code block of a guide, in which fanfold is this stack's, and app its schema. It returns
// the output.
func (s commands) shell(block string) string {
	s.Helper()
	file := filepath.Join(s.Dir, "fanfold")
	if err := os.WriteFile(file, []byte("#!/bin/sh\nexec env "+asFanfold+"=1 '"+os.Args[0]+"' \"$@\"\n"), 0o700); err != nil {
		s.Fatal(err)
	}
	host, port, err := net.SplitHostPort(testmain.SharedDatabase(s.TB).Addr)
	if err != nil {
		s.Fatal(err)
	}
	client := " --no-defaults -h " + host + " -P " + port + " -u root "
	c := exec.CommandContext(s.Context(), "bash", "-euo", "pipefail", "-c", strings.NewReplacer(
		"redis-cli ", "redis-cli -e "+s.CLI+" ", "mysqldump ", "mysqldump"+client, "mysql app", "mysql"+client+s.Schema, " app ", " "+s.Schema+" ").Replace(block))
	c.Dir = s.Dir
	c.Env = append(os.Environ(), "PATH="+s.Dir+":"+os.Getenv("PATH"), "FANFOLD_CONFIG="+s.File)
	out, err := c.CombinedOutput()
	if err != nil {
		s.Errorf("%s: %v\n%s", block, err, out)
	}
	return string(out)
}

// TestUpgradeGuide runs the commands of the guide, and its way back after a newer release has stored what
// this one does not know: jobs and due times are there again.
func TestUpgradeGuide(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, []string{"--maxmemory", "1gb"}, e2e.Slow, "limits: {recover_after: 1s}")
	blocks := fenced(t, "docs/guides/upgrade.md", "sh")
	if len(blocks) != 4 {
		t.Fatalf("the guide has the blocks %q", blocks)
	}
	prepare, migrate, verify, back := blocks[0], blocks[1], blocks[2], blocks[3]
	stop := s.Serve(s.File)
	if v := s.Jobs.Run("slow", ""); v.Status != report.Success {
		t.Fatalf("%+v", v)
	}
	later := s.Records.Insert("slow", "")
	due := time.Now().Add(20 * time.Second).UnixMilli()
	s.Redis.ZAdd(t.Context(), s.Partitions.First().Keys.Delayed, redis.Z{Score: float64(due), Member: later})
	s.Eventually("it is in the snapshot", func() bool {
		n, err := s.Process.Records.SnapshotMembers(t.Context())
		return err == nil && n == 1
	})
	if out := s.shell(prepare); !strings.Contains(out, "stored versions") {
		t.Errorf("%s", out)
	}
	if out := s.shell(migrate); !strings.Contains(out, "up to date") {
		t.Errorf("%s", out)
	}
	if out := s.shell(verify); !strings.Contains(out, "@"+version) {
		t.Errorf("no process with its version:\n%s", out)
	}
	stop()
	s.Records.Exec("INSERT INTO fanfold_migrations (version_id, needs) VALUES (9, 9)")
	s.Records.Exec("UPDATE fanfold_meta SET value = '2' WHERE name = 'file_download_record version'")
	s.Redis.Set(t.Context(), s.Partitions.First().Keys.Version, "2", 0)
	if _, code := s.fanfold("serve"); code != exitNewer {
		t.Errorf("it starts: %d", code)
	}
	s.shell(back)
	s.Serve(s.File)
	v := s.Jobs.Wait(later)[0]
	if v.Status != report.Success || v.Attempt != 1 {
		t.Errorf("%+v", v)
	}
	if now := time.Now().UnixMilli(); now < due {
		t.Errorf("it ended %d ms before it was due", due-now)
	}
}

// TestDeployGuide runs the commands of the guide, on a job whose definition a deploy has changed.
func TestDeployGuide(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, []string{"--maxmemory", "1gb"}, mended("20", ""), "limits: {lease: 1s}")
	id := s.stuck()
	next := s.Write("new.yaml", mended("0", ""), "limits: {lease: 1s}")
	blocks := fenced(t, "docs/guides/deploy-a-change.md", "sh")
	if len(blocks) != 3 {
		t.Fatalf("the guide has the blocks %q", blocks)
	}
	check, adopt, verify := blocks[0], blocks[1], blocks[2]
	if out := s.shell(check); !strings.Contains(out, s.Open(next).Config.Reports["mended"].Hash()) {
		t.Errorf("the hash is not shown:\n%s", out)
	}
	s.File = next
	s.Use(next)
	s.Serve(next)
	s.because(id, "no-definition", "fanfold adopt --report mended")
	if out := s.shell(adopt); !strings.Contains(out, "adopted, attempt 2") {
		t.Errorf("%s", out)
	}
	if v := s.Jobs.Wait(id)[0]; s.Files.Content(v) != "k,v\r\n1,0\r\n" || v.Attempt != 2 {
		t.Errorf("%+v", v)
	}
	if out := s.shell(verify); !strings.Contains(out, "all of them are known to processes") {
		t.Errorf("%s", out)
	}
}
