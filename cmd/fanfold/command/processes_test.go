package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fanfold/fanfold/report"
)

// crowdReport is a small report of two stages, which uses every script.
const crowdReport = `
  crowd:
    parameters: {job: integer}
    stages:
      - listeners:
          - {name: src.a, database: db, query: "SELECT seq AS k, seq * :job AS a FROM seq_1_to_20"}
          - {name: src.b, database: db, query: "SELECT seq AS k, seq + :job AS b FROM seq_1_to_20"}
      - listeners:
          - {name: src.c, database: db, query: "SELECT seq AS k, seq + 7 AS c FROM seq_1_to_20 WHERE seq IN (:src.a.k)"}
    join: {key: k}
`

// crowdFile returns the expected file of such a job.
func crowdFile(job int) string {
	var b strings.Builder
	b.WriteString("k,a,b,c\r\n")
	for k := 1; k <= 20; k++ {
		fmt.Fprintf(&b, "%d,%d,%d,%d\r\n", k, k*job, k+job, k+7)
	}
	return b.String()
}

// insertCrowd inserts records; the parameter of every record is its id.
func (s *stack) insertCrowd(n int) []string {
	s.t.Helper()
	s.exec(fmt.Sprintf(`INSERT INTO file_download_record (id, report, parameters)
		SELECT seq, 'crowd', CONCAT('{"job": ', seq, '}') FROM seq_1_to_%d`, n))
	return numbers(n)
}

// checkCrowd checks that every record is SUCCESS and points to its own correct file, and that the
// sink has no other files.
func (s *stack) checkCrowd(n int) {
	s.t.Helper()
	if done := s.number("SELECT COUNT(*) FROM file_download_record WHERE status = 'SUCCESS' AND row_count = 20"); done != n {
		s.t.Errorf("%d of %d records are SUCCESS with 20 rows", done, n)
	}
	known := map[string]bool{}
	rows, err := s.db.QueryContext(s.t.Context(), "SELECT id, file FROM file_download_record WHERE status = 'SUCCESS'")
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int
		var file string
		if err := rows.Scan(&id, &file); err != nil {
			s.t.Fatal(err)
		}
		path := strings.TrimPrefix(file, "file://")
		known[path], known[path+".manifest.json"] = true, true
		if got, err := os.ReadFile(path); err != nil || string(got) != crowdFile(id) {
			s.t.Errorf("file of %d: %v\n%s", id, err, got)
		}
		if _, err := os.Stat(path + ".manifest.json"); err != nil {
			s.t.Errorf("manifest of %d: %v", id, err)
		}
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	if err := filepath.WalkDir(s.dir+"/files", func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !known[path] {
			s.t.Errorf("%s is in the sink and no record points to it", path)
		}
		return err
	}); err != nil {
		s.t.Error(err)
	}
}

// events counts the events with a name for every job.
func (s *stack) events(name string) map[string]int {
	s.t.Helper()
	counts := map[string]int{}
	for _, m := range s.b.Redis.XRange(s.t.Context(), s.b.Partitions.First().Keys.Events, "-", "+").Val() {
		if m.Values["event"] == name {
			counts[m.Values["id"].(string)]++
		}
	}
	return counts
}

// TestManyProcesses runs 2,000 jobs in 5 processes at once.
func TestManyProcesses(t *testing.T) {
	t.Parallel()
	const jobs = 2000
	s := newStack(t, crowdReport)
	ids := s.insertCrowd(jobs)
	for range 5 {
		s.process("-c", s.config, "serve")
	}
	s.push(ids...)
	s.push(ids[:100]...) // some of them twice
	for _, v := range s.wait(ids...) {
		if v.Status != report.Success || v.Attempt != 1 {
			t.Errorf("%+v", v)
		}
	}
	s.idle()
	s.checkCrowd(jobs)
	for _, name := range []string{"started", "stage", "finished"} {
		counts := s.events(name)
		if len(counts) != jobs {
			t.Errorf("event %s of %d jobs, not %d", name, len(counts), jobs)
		}
		for id, n := range counts {
			if n != 1 {
				t.Errorf("event %s came %d times for job %s", name, n, id)
			}
		}
	}
}

// TestKill9 kills one of three processes with kill -9 in the middle of 500 jobs.
func TestKill9(t *testing.T) {
	t.Parallel()
	const jobs = 500
	s := newStack(t, crowdReport, "limits: {lease: 2s, grace: 3s, running_jobs: 60}")
	ids := s.insertCrowd(jobs)
	victim := s.process("-c", s.config, "serve")
	for range 2 {
		s.process("-c", s.config, "serve")
	}
	s.push(ids...)
	s.eventually("a fifth of the jobs is done", func() bool {
		return s.number("SELECT COUNT(*) FROM file_download_record WHERE status = 'SUCCESS'") > jobs/5
	})
	if err := victim.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait()
	left := s.number("SELECT COUNT(*) FROM file_download_record WHERE status <> 'SUCCESS'")
	if left == 0 {
		t.Fatal("all jobs were done before the kill: the test is not what it says")
	}
	for _, v := range s.wait(ids...) {
		if v.Status != report.Success {
			t.Errorf("%+v", v)
		}
	}
	s.idle()
	s.checkCrowd(jobs)
	t.Logf("%d jobs were left at the kill; %d of all needed a second attempt", left,
		s.number("SELECT COUNT(*) FROM file_download_record WHERE attempt > 1"))
}
