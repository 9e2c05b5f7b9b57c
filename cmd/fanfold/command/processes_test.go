package command

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/report"
)

// crowdFile returns the expected file of such a job.
func crowdFile(job int) string {
	var b strings.Builder
	b.WriteString("k,a,b,c\r\n")
	for k := 1; k <= 20; k++ {
		fmt.Fprintf(&b, "%d,%d,%d,%d\r\n", k, k*job, k+job, k+7)
	}
	return b.String()
}

// crowd has jobs of e2e.Crowd.
type crowd struct{ *e2e.Stack }

// insert inserts records; the parameter of every record is its id.
func (s crowd) insert(n int) []string {
	s.Helper()
	s.Records.Exec(fmt.Sprintf(`INSERT INTO file_download_record (id, report, parameters)
		SELECT seq, 'crowd', CONCAT('{"job": ', seq, '}') FROM seq_1_to_%d`, n))
	return e2e.Numbers(n)
}

// check checks that every record is SUCCESS and points to its own correct file, and that the
// sink has no other files.
func (s crowd) check(n int) {
	s.Helper()
	if done := s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE status = 'SUCCESS' AND row_count = 20"); done != n {
		s.Errorf("%d of %d records are SUCCESS with 20 rows", done, n)
	}
	known := map[string]bool{}
	rows, err := s.DB.QueryContext(s.Context(), "SELECT id, file FROM file_download_record WHERE status = 'SUCCESS'")
	if err != nil {
		s.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int
		var file string
		if err := rows.Scan(&id, &file); err != nil {
			s.Fatal(err)
		}
		path := strings.TrimPrefix(file, "file://")
		known[path], known[path+".manifest.json"] = true, true
		if got, err := os.ReadFile(path); err != nil || string(got) != crowdFile(id) {
			s.Errorf("file of %d: %v\n%s", id, err, got)
		}
		if _, err := os.Stat(path + ".manifest.json"); err != nil {
			s.Errorf("manifest of %d: %v", id, err)
		}
	}
	if err := rows.Err(); err != nil {
		s.Fatal(err)
	}
	if err := filepath.WalkDir(s.Dir+"/files", func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !known[path] {
			s.Errorf("%s is in the sink and no record points to it", path)
		}
		return err
	}); err != nil {
		s.Error(err)
	}
}

// crowdOf returns n, or the multiple of it that CROWD says, as make kills sets it.
func crowdOf(t *testing.T, n int) int {
	t.Helper()
	times, err := strconv.Atoi(cmp.Or(os.Getenv("CROWD"), "1"))
	if err != nil {
		t.Fatal(err)
	}
	return n * times
}

// TestManyProcesses runs 500 jobs, or more with CROWD, in 5 processes at once.
func TestManyProcesses(t *testing.T) {
	t.Parallel()
	jobs := crowdOf(t, 500)
	s := newStack(t, e2e.Crowd)
	ids := s.crowd.insert(jobs)
	for range 5 {
		s.process("-c", s.File, "serve")
	}
	s.Jobs.Push(ids...)
	s.Jobs.Push(ids[:100]...) // some of them twice
	for _, v := range s.Jobs.Wait(ids...) {
		if v.Status != report.Success || v.Attempt != 1 {
			t.Errorf("%+v", v)
		}
	}
	s.Jobs.Idle()
	s.crowd.check(jobs)
	for _, name := range []string{"started", "stage", "finished"} {
		counts := s.Jobs.Events(name)
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

// TestKill9 kills one of three processes with kill -9 in the middle of 300 jobs.
func TestKill9(t *testing.T) {
	t.Parallel()
	jobs := crowdOf(t, 300)
	s := newStack(t, e2e.Crowd, "limits: {lease: 2s, recover_after: 3s, running_jobs: 60}")
	ids := s.crowd.insert(jobs)
	victim := s.process("-c", s.File, "serve")
	for range 2 {
		s.process("-c", s.File, "serve")
	}
	s.Jobs.Push(ids...)
	s.Eventually("a fifth of the jobs is done", func() bool {
		return s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE status = 'SUCCESS'") > jobs/5
	})
	if err := victim.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait()
	left := s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE status <> 'SUCCESS'")
	if left == 0 {
		t.Fatal("all jobs were done before the kill: the test is not what it says")
	}
	for _, v := range s.Jobs.Wait(ids...) {
		if v.Status != report.Success {
			t.Errorf("%+v", v)
		}
	}
	s.Jobs.Idle()
	s.crowd.check(jobs)
	t.Logf("%d jobs were left at the kill; %d of all needed a second attempt", left,
		s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE attempt > 1"))
}
