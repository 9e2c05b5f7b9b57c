package trigger_test

import (
	"fmt"
	"github.com/fanfold/fanfold/internal/audit"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// shared is a report that jobs of everybody share.
const shared = e2e.Who + "    once: {per: [report, parameters]}\n"

// runs returns how many jobs have run.
func runs(s *e2e.Stack) (n int) {
	for _, times := range s.Jobs.Events("started") {
		n += times
	}
	return n
}

// insert inserts equal records.
func insert(s *e2e.Stack, n int, parameters string) (ids []string) {
	for range n {
		ids = append(ids, s.Records.Insert("who", parameters))
	}
	return ids
}

func TestEqualJobsRunOnce(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, shared)
	s.Serve(s.File)
	// Some are pushed in one batch with their leader, some while it runs, and some after it.
	ids := insert(s, 60, e2e.WhoParameters("a", 0.5))
	others := insert(s, 3, e2e.WhoParameters("b", 0))
	s.Jobs.Push(ids[:20]...)
	s.Eventually("the leader runs", func() bool { return runs(s) == 1 })
	s.Jobs.Push(ids[20:40]...)
	s.Jobs.Push(others...)
	waited := func(id string) string {
		return s.Records.Expect("", "SELECT COALESCE(error, '') FROM file_download_record WHERE id = "+id)
	}
	s.Eventually("a record says what it waits for", func() bool { return strings.Contains(waited(ids[30]), "waiting for ") })
	s.Jobs.Wait(ids[:40]...)
	s.Jobs.Push(ids[40:]...)
	var files []string
	for _, v := range s.Jobs.Wait(ids...) {
		if v.Status != report.Success || v.Attempt != 1 || v.Error != "" || v.Rows == nil || *v.Rows != 1 {
			t.Errorf("%+v", v)
		}
		files = append(files, v.File)
		if got := s.Files.Content(v); got != e2e.WhoFile("a") {
			t.Errorf("%s: %q", v.ID, got)
		}
	}
	for _, f := range files {
		if f != files[0] {
			t.Errorf("files %q and %q", files[0], f)
		}
	}
	s.Jobs.Wait(others...)
	if n := runs(s); n != 2 {
		t.Errorf("%d runs of two questions", n)
	}
	if n := len(s.Jobs.Events("finished")); n != len(ids)+len(others) {
		t.Errorf("%d jobs have finished", n)
	}
	s.Jobs.Idle()
}

func TestPeopleShareOnlyIfTheReportSaysSo(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, e2e.Who+"    once: {}\n", "")
	ids := insert(s, 8, e2e.WhoParameters("a", 0.3))
	for i, id := range ids {
		if i < 6 { // the last two have no owner
			s.Records.Exec("UPDATE file_download_record SET owner = ? WHERE id = ?", []string{"ann", "bob"}[i%2], id)
		}
	}
	s.Serve(s.File)
	s.Jobs.Push(ids...)
	file := map[string]string{} // by owner
	for i, v := range s.Jobs.Wait(ids...) {
		if got := s.Files.Content(v); got != e2e.WhoFile("a") {
			t.Errorf("%s: %q", v.ID, got)
		}
		owner := []string{"ann", "bob"}[i%2]
		if i >= 6 {
			owner = v.ID
		}
		if before := file[owner]; before != "" && before != v.File {
			t.Errorf("%s has the files %s and %s", owner, before, v.File)
		}
		for other, f := range file {
			if other != owner && f == v.File {
				t.Errorf("%s and %s have the file %s", owner, other, f)
			}
		}
		file[owner] = v.File
	}
	if n := runs(s); n != 4 {
		t.Errorf("%d runs", n)
	}
	s.Jobs.Idle()
}

func TestTheNextOneLeads(t *testing.T) {
	t.Parallel()
	for how, end := range map[string]func(s *e2e.Stack, leader string){
		"cancelled": func(s *e2e.Stack, leader string) {
			if _, err := s.Operate.Jobs.Cancel(audit.With(t.Context(), &audit.Actor{Who: "test"}), leader, "test"); err != nil {
				s.Error(err)
			}
		},
		"deleted": func(s *e2e.Stack, leader string) {
			s.Records.Exec("DELETE FROM file_download_record WHERE id = ?", leader)
		},
		"set to FAILED": func(s *e2e.Stack, leader string) {
			s.Records.Exec("UPDATE file_download_record SET status = 'FAILED' WHERE id = ?", leader)
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := e2e.New(t, shared, "limits: {lease: 1s}")
			s.Serve(s.File)
			ids := insert(s, 5, e2e.WhoParameters("a", 1.5))
			s.Jobs.Push(ids[0])
			s.States.Taken(ids[0])
			s.Jobs.Push(ids[1:]...)
			s.Eventually("four wait", func() bool { return len(s.Jobs.Events("shares")) == 4 })
			if how == "cancelled" { // one that waits: nobody waits for it
				if _, err := s.Operate.Jobs.Cancel(audit.With(t.Context(), &audit.Actor{Who: "test"}), ids[4], "test"); err != nil {
					t.Error(err)
				}
			}
			end(s, ids[0])
			rest := ids[1:]
			if how == "cancelled" {
				rest = ids[1:4]
			}
			for _, v := range s.Jobs.Wait(rest...) {
				if got := s.Files.Content(v); got != e2e.WhoFile("a") {
					t.Errorf("%+v: %q", v, got)
				}
			}
			if n := s.Jobs.Events("started"); n[ids[0]] != 1 || len(n) != 2 || runs(s) != 2 {
				t.Errorf("%v have run", n)
			}
			s.Jobs.Idle()
		})
	}
}

func TestARetryAsksAnew(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, shared)
	s.Serve(s.File)
	ids := insert(s, 3, e2e.WhoParameters("a", 0))
	s.Jobs.Push(ids...)
	made := s.Jobs.Wait(ids...)[0].File
	if n := runs(s); n != 1 {
		t.Fatalf("%d runs", n)
	}
	retry := func(id string) inspect.Job {
		t.Helper()
		if _, err := s.Operate.Jobs.Retry(audit.With(t.Context(), &audit.Actor{Who: "test"}), id, job.AnyAge); err != nil {
			t.Fatal(err)
		}
		return s.Jobs.Wait(id)[0]
	}
	var leader, other string
	for _, id := range ids {
		if strings.Contains(made, "/"+id+"-") {
			leader = id
		} else {
			other = id
		}
	}
	// One that shares makes a file of its own, and the leader's file stays.
	if v := retry(other); v.File == made || s.Files.Content(v) != e2e.WhoFile("a") {
		t.Errorf("%+v", v)
	}
	// The leader makes a second one. Its first is deleted only when nobody points to it.
	if v := retry(leader); v.File == made || v.Attempt != 2 {
		t.Errorf("%+v", v)
	}
	if n := runs(s); n != 3 {
		t.Errorf("%d runs", n)
	}
	s.Roles.Sweep()
	last := ids[0]
	for _, id := range ids {
		if id != leader && id != other {
			last = id
		}
	}
	if v := s.Jobs.Wait(last)[0]; v.File != made || s.Files.Content(v) != e2e.WhoFile("a") {
		t.Errorf("%+v", v)
	}
	s.Records.Exec("UPDATE file_download_record SET file = NULL WHERE id = ?", last)
	s.Records.Exec("UPDATE fanfold_shared SET made = made - INTERVAL 2 HOUR")
	s.Roles.Sweep()
	if names := fmt.Sprint(s.Files.All()); strings.Contains(names, leader+"-1-") {
		t.Errorf("a file that no record points to is left: %s", names)
	}
	if n := s.Records.Number("SELECT COUNT(*) FROM fanfold_shared WHERE id = ?", last); n != 0 {
		t.Errorf("%d rows of a deleted file", n)
	}
	s.Jobs.Idle()
}

func TestAFileIsSharedWithinItsWindow(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, e2e.Who+"    once: {window: 0s, per: [report, parameters]}\n")
	s.Serve(s.File)
	first := s.Jobs.Run("who", e2e.WhoParameters("a", 0))
	second := s.Jobs.Run("who", e2e.WhoParameters("a", 0))
	if first.File == second.File || runs(s) != 2 {
		t.Errorf("%s %s", first.File, second.File)
	}
	s.Jobs.Idle()
}

func TestAFileThatIsGoneIsMadeAgain(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, shared)
	s.Serve(s.File)
	first := s.Jobs.Run("who", e2e.WhoParameters("a", 0))
	s.Records.Exec("UPDATE file_download_record SET file = NULL WHERE id = ?", first.ID)
	ids := insert(s, 10, e2e.WhoParameters("a", 0.2))
	s.Jobs.Push(ids...)
	for _, v := range s.Jobs.Wait(ids...) {
		if v.File == first.File || s.Files.Content(v) != e2e.WhoFile("a") {
			t.Errorf("%+v", v)
		}
	}
	if n := runs(s); n != 2 {
		t.Errorf("%d runs", n)
	}
	s.Jobs.Idle()
}

// TestTheQuestionOfALeaderChanges: a service changes the parameters of the record for which others wait, before its
// job starts. They neither wait forever nor get its file.
func TestTheQuestionOfALeaderChanges(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, shared+"    running: 1\n", "limits: {lease: 1s}")
	s.Serve(s.File)
	first := s.Records.Insert("who", e2e.WhoParameters("first", 1.5))
	s.Jobs.Push(first)
	s.States.Taken(first)
	ids := insert(s, 4, e2e.WhoParameters("a", 0))
	s.Jobs.Push(ids[0])
	s.Eventually("one waits for the limit", func() bool { return len(s.Jobs.Events("limited")) == 1 })
	s.Jobs.Push(ids[1:]...)
	s.Eventually("three wait for it", func() bool { return len(s.Jobs.Events("shares")) == 3 })
	s.Records.Exec("UPDATE file_download_record SET parameters = ? WHERE id = ?", e2e.WhoParameters("b", 0), ids[0])
	for i, v := range s.Jobs.Wait(ids...) {
		if got, want := s.Files.Content(v), []string{"b", "a", "a", "a"}[i]; got != e2e.WhoFile(want) {
			t.Errorf("%+v: %q", v, got)
		}
	}
	if n := runs(s); n != 3 {
		t.Errorf("%d runs of three questions", n)
	}
	s.Jobs.Idle()
}

// TestReceiptsOfThoseThatShare: in four partitions, each push gets one final receipt, with the file that the record
// shares. Only that of the job that ran gets `accepted`.
func TestReceiptsOfThoseThatShare(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, shared)
	s.File = s.Divided("four.yaml", 4, shared)
	s.Use(s.File)
	s.Serve(s.File)
	ids := insert(s, 12, e2e.WhoParameters("a", 0.5))
	s.Receipts.Push("replies:my", ids[:8]...)
	s.Jobs.Wait(ids[:8]...)
	s.Receipts.Push("replies:my", ids[8:]...)
	file := s.Jobs.Wait(ids...)[0].File
	events := map[string]int{}
	finals := map[any]int{}
	for _, one := range s.Receipts.Wait("replies:my", len(ids)) {
		event := fmt.Sprint(one["event"])
		if events[event]++; event != "finished" {
			continue
		}
		if finals[one["id"]]++; one["file"] != file || one["status"] != "SUCCESS" {
			t.Errorf("%v", one)
		}
	}
	if len(finals) != len(ids) || events["finished"] != len(ids) || events["accepted"] != 1 || len(events) != 2 {
		t.Errorf("%v %v", events, finals)
	}
	s.Redis.Del(t.Context(), "replies:my")
	s.Jobs.Idle()
}
