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

	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
)

// shell runs the code block of a guide, in which fanfold is this stack's, and app its schema. It returns
// the output.
func (s *stack) shell(block string) string {
	s.t.Helper()
	file := filepath.Join(s.dir, "fanfold")
	if err := os.WriteFile(file, []byte("#!/bin/sh\nexec env "+asFanfold+"=1 '"+os.Args[0]+"' \"$@\"\n"), 0o700); err != nil {
		s.t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(testmain.SharedDatabase(s.t).Addr)
	if err != nil {
		s.t.Fatal(err)
	}
	client := " --no-defaults -h " + host + " -P " + port + " -u root "
	c := exec.CommandContext(s.t.Context(), "bash", "-euo", "pipefail", "-c", strings.NewReplacer(
		"redis-cli ", "redis-cli -e "+s.cli+" ", "mysqldump ", "mysqldump"+client, "mysql app", "mysql"+client+s.schema, " app ", " "+s.schema+" ").Replace(block))
	c.Dir = s.dir
	c.Env = append(os.Environ(), "PATH="+s.dir+":"+os.Getenv("PATH"), "FANFOLD_CONFIG="+s.config)
	out, err := c.CombinedOutput()
	if err != nil {
		s.t.Errorf("%s: %v\n%s", block, err, out)
	}
	return string(out)
}

// TestUpgradeGuide runs the commands of the guide, and its way back after a newer release has stored what
// this one does not know: jobs and due times are there again.
func TestUpgradeGuide(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, []string{"--maxmemory", "1gb"}, oneReport, "limits: {grace: 1s}")
	blocks := fenced(t, "docs/guides/upgrade.md", "sh")
	if len(blocks) != 4 {
		t.Fatalf("the guide has the blocks %q", blocks)
	}
	prepare, migrate, verify, back := blocks[0], blocks[1], blocks[2], blocks[3]
	stop := s.serve(s.config)
	if v := s.run("slow", ""); v.Status != report.Success {
		t.Fatalf("%+v", v)
	}
	later := s.insert("slow", "")
	due := time.Now().Add(20 * time.Second).UnixMilli()
	s.b.Redis.ZAdd(t.Context(), s.b.Partitions.First().Keys.Delayed, redis.Z{Score: float64(due), Member: later})
	s.eventually("it is in the snapshot", func() bool {
		n, err := s.b.Records.SnapshotMembers(t.Context())
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
	s.exec("INSERT INTO fanfold_migrations (version_id, needs) VALUES (9, 9)")
	s.exec("UPDATE fanfold_meta SET value = '2' WHERE name = 'file_download_record version'")
	s.b.Redis.Set(t.Context(), s.b.Partitions.First().Keys.Version, "2", 0)
	if _, code := s.fanfold("serve"); code != exitNewer {
		t.Errorf("it starts: %d", code)
	}
	s.shell(back)
	s.serve(s.config)
	v := s.wait(later)[0]
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
	next := s.write("new.yaml", mended("0", ""), "limits: {lease: 1s}")
	blocks := fenced(t, "docs/guides/deploy-a-change.md", "sh")
	if len(blocks) != 3 {
		t.Fatalf("the guide has the blocks %q", blocks)
	}
	check, adopt, verify := blocks[0], blocks[1], blocks[2]
	if out := s.shell(check); !strings.Contains(out, s.open(next).Config.Reports["mended"].Hash()) {
		t.Errorf("the hash is not shown:\n%s", out)
	}
	s.config = next
	s.b = s.open(next)
	s.serve(next)
	s.because(id, "no-definition", "fanfold adopt --report mended")
	if out := s.shell(adopt); !strings.Contains(out, "adopted, attempt 2") {
		t.Errorf("%s", out)
	}
	if v := s.wait(id)[0]; s.content(v) != "k,v\r\n1,0\r\n" || v.Attempt != 2 {
		t.Errorf("%+v", v)
	}
	if out := s.shell(verify); !strings.Contains(out, "all of them are known to processes") {
		t.Errorf("%s", out)
	}
}
