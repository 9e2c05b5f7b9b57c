package command

import (
	"errors"
	"fmt"
	"github.com/fanfold/fanfold/internal/audit"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// shareSink makes the stack use the sink of another one.
func (s *stack) shareSink(other *stack) {
	s.Helper()
	text, err := os.ReadFile(s.File)
	if err != nil {
		s.Fatal(err)
	}
	changed := strings.Replace(string(text), "sink: file://"+s.Dir+"/files", "sink: file://"+other.Dir+"/files", 1)
	if err := os.WriteFile(s.File, []byte(changed), 0o600); err != nil {
		s.Fatal(err)
	}
	s.Use(s.File)
}

// TestInstallationsShareASink: two installations with the same reports, ids and sink create,
// replace and delete only their own files.
func TestInstallationsShareASink(t *testing.T) {
	t.Parallel()
	a := newStack(t, e2e.Who, "limits: {lease: 1s, recover_after: 1s}")
	b := newStack(t, e2e.Who, "limits: {lease: 1s, recover_after: 1s}")
	b.shareSink(a)
	a.Serve(a.File)
	b.Serve(b.File)
	const jobs = 6
	var ids []string
	check := func(when string, s *stack, who string, ids ...string) {
		t.Helper()
		for _, v := range s.Jobs.Wait(ids...) {
			if got := s.Files.Content(v); got != e2e.WhoFile(who) {
				t.Errorf("%s: record %s of %s has the file %q", when, v.ID, who, got)
			}
		}
	}
	for i := range jobs {
		who := map[*stack]string{a: "a", b: "b"}
		if i%2 == 1 {
			who = map[*stack]string{a: "both", b: "both"} // the same bytes
		}
		for _, s := range []*stack{a, b} {
			id := s.Records.Insert("who", e2e.WhoParameters(who[s], 0))
			if s == a {
				ids = append(ids, id)
			} else if id != ids[i] {
				t.Fatalf("%s and %s: the ids are not the same", id, ids[i])
			}
			s.Jobs.Push(id)
		}
	}
	all := func(when string) {
		t.Helper()
		for i, id := range ids {
			who := [2]string{"a", "b"}
			if i%2 == 1 {
				who = [2]string{"both", "both"}
			}
			check(when, a, who[0], id)
			check(when, b, who[1], id)
		}
	}
	all("at first")
	a.Jobs.Wait(append(ids, ids...)...)
	if out, code := a.fanfold(append([]string{"retry", "--wait"}, ids...)...); code != exitOK {
		t.Fatalf("%d %s", code, out)
	}
	all("after a retry of one")
	if out, code := b.fanfold(append([]string{"retry", "--wait"}, ids[:3]...)...); code != exitOK {
		t.Fatalf("%d %s", code, out)
	}
	all("after a retry of the other")
	// Cancelled in mid-run, and before the start.
	for i, s := range []*stack{a, b} {
		s.Records.Exec("UPDATE file_download_record SET parameters = ? WHERE id = ?", e2e.WhoParameters("x", 30), ids[i])
		if out, code := s.fanfold("retry", ids[i]); code != exitOK {
			t.Fatalf("%d %s", code, out)
		}
		s.States.Taken(ids[i])
		s.must("cancel "+ids[i], "cancelled")
		s.Records.Exec("UPDATE file_download_record SET status = 'PENDING' WHERE id = ?", ids[i+2])
		s.must("cancel "+ids[i+2], "cancelled")
	}
	a.Eventually("records and sink agree", func() bool { return e2e.Agree(a.Stack, b.Stack) == "" })
	for i, id := range ids {
		if i != 0 && i != 2 {
			check("after cancels", a, map[bool]string{true: "both", false: "a"}[i%2 == 1], id)
		}
		if i != 1 && i != 3 {
			check("after cancels", b, map[bool]string{true: "both", false: "b"}[i%2 == 1], id)
		}
	}
}

// TestAFileOfAnotherRecord: the file of another record is not deleted, even if a copied row points
// to it.
func TestAFileOfAnotherRecord(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Who, "limits: {lease: 1s, recover_after: 1s}")
	s.Serve(s.File)
	original := s.Jobs.Run("who", e2e.WhoParameters("original", 0))
	s.Files.Content(original)
	if out, code := s.fanfold("retry", "--wait", original.ID); code != exitOK {
		t.Fatalf("%d %s", code, out)
	}
	original = s.Jobs.Wait(original.ID)[0]
	stays := func(when string) {
		t.Helper()
		if got := s.Files.Content(s.Jobs.Wait(original.ID)[0]); got != e2e.WhoFile("original") {
			t.Errorf("%s: %q", when, got)
		}
		if _, err := os.Stat(strings.TrimPrefix(original.File, "file://") + ".manifest.json"); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	// copied copies the row of the original, with its attempt and its file.
	copied := func(parameters string) string {
		t.Helper()
		result, err := s.DB.ExecContext(t.Context(), `INSERT INTO file_download_record (report, parameters, status, attempt, file)
			SELECT report, ?, 'PENDING', attempt, file FROM file_download_record WHERE id = ?`, parameters, original.ID)
		if err != nil {
			t.Fatal(err)
		}
		n, err := result.LastInsertId()
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(n)
	}
	id := copied(e2e.WhoParameters("copy", 0))
	s.Jobs.Push(id)
	if v := s.Jobs.Wait(id)[0]; s.Files.Content(v) != e2e.WhoFile("copy") || v.Attempt != 3 {
		t.Errorf("%+v", v)
	}
	stays("a copy that succeeds")

	s.Records.Exec("UPDATE file_download_record SET file = ? WHERE id = ?", original.File, id)
	if out, code := s.fanfold("retry", "--wait", id); code != exitOK {
		t.Fatalf("%d %s", code, out)
	}
	stays("a retry of a row that names the file")

	wrong := copied(`{"nobody": 1}`)
	s.Jobs.Push(wrong)
	if v := s.Jobs.Wait(wrong)[0]; v.Status != report.Failed {
		t.Errorf("%+v", v)
	}
	stays("a copy that fails before its start")

	pending := copied(e2e.WhoParameters("copy", 0))
	s.must("cancel "+pending, "cancelled")
	running := copied(e2e.WhoParameters("copy", 30))
	s.Jobs.Push(running)
	s.States.Taken(running)
	s.must("cancel "+running, "cancelled")
	s.Jobs.Idle()
	stays("copies that are cancelled")
	s.Eventually("records and sink agree", func() bool { return e2e.Agree(s.Stack) == "" })
	s.Roles.Sweep()
	stays("in the end")
	if left := e2e.Agree(s.Stack); left != "" {
		t.Error(left)
	}
}

// TestRetryAgainstCancel: retry and cancel race. In the end, either the record is SUCCESS and has
// its file, or it is CANCELLED and neither the record nor the sink has a file.
func TestRetryAgainstCancel(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Who, "limits: {lease: 1s, recover_after: 1s}")
	s.Serve(s.File)
	var ids []string
	for range retryPairs {
		ids = append(ids, s.Records.Insert("who", e2e.WhoParameters("x", 0)))
	}
	s.Jobs.Push(ids...)
	for _, v := range s.Jobs.Wait(ids...) {
		s.Files.Content(v)
	}
	var group errgroup.Group
	group.SetLimit(8)
	retrying, cancelling := s.Open(s.File), s.Open(s.File)
	for i, id := range ids {
		start, retried := make(chan struct{}), make(chan struct{})
		group.Go(func() error {
			defer close(retried)
			<-start
			_, err := retrying.Operate.Jobs.Retry(audit.With(t.Context(), &audit.Actor{Who: "test"}), id, job.AnyAge)
			return err
		})
		group.Go(func() error {
			close(start)
			later := time.NewTimer(time.Duration(i%16) * 4 * time.Millisecond) // before its start, in its query, or as it ends
			defer later.Stop()
			<-later.C
			for last := false; ; {
				_, err := cancelling.Operate.Jobs.Cancel(audit.With(t.Context(), &audit.Actor{Who: "test"}), id, "not now")
				if !errors.Is(err, fault.Refused) {
					return err
				} else if last {
					return nil
				}
				select {
				case <-retried:
					last = true
				default:
				}
			}
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	ended := map[report.Status]int{}
	for _, v := range s.Jobs.Wait(ids...) {
		ended[v.Status]++
	}
	if t.Logf("%v", ended); ended[report.Cancelled] == 0 {
		t.Error("no cancel was in time: this proves nothing")
	}
	s.Jobs.Idle()
	s.Eventually("records and sink agree", func() bool { return e2e.Agree(s.Stack) == "" })
	if n := s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE (file IS NULL) <> (row_count IS NULL)"); n != 0 {
		t.Errorf("%d records have rows without a file, or a file without rows", n)
	}
}

// retryPairs is the number of races.
const retryPairs = 40

// TestARecordWhoseReportIsChanged: if the report of a record is changed, the next sweep deletes its
// earlier file, which is in another folder, however the next run ends.
func TestARecordWhoseReportIsChanged(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Who+strings.Replace(strings.Replace(e2e.Who, "who:\n", "other:\n", 1), "one: {", "two: {", 1)+`
  bad:
    retry: 0
    listeners: {three: {database: db, query: "SELECT k FROM no_such_table"}}
`, "limits: {lease: 1s, recover_after: 1s}")
	s.Serve(s.File)
	var ids []string
	for range 4 {
		ids = append(ids, s.Records.Insert("who", e2e.WhoParameters("x", 0)))
	}
	s.Jobs.Push(ids...)
	for _, v := range s.Jobs.Wait(ids...) {
		s.Files.Content(v)
	}
	s.Records.Exec("UPDATE file_download_record SET report = 'other' WHERE id IN (?, ?, ?)", ids[0], ids[1], ids[2])
	s.Records.Exec("UPDATE file_download_record SET report = 'bad', parameters = '{}' WHERE id = ?", ids[3])
	if out, code := s.fanfold("retry", "--wait", ids[0]); code != exitOK {
		t.Errorf("%d %s", code, out)
	}
	s.Records.Exec("UPDATE file_download_record SET parameters = ? WHERE id = ?", e2e.WhoParameters("x", 30), ids[1])
	s.must("retry "+ids[1], "pushed")
	s.Eventually("it runs", func() bool {
		state, err := s.Partitions.First().Jobs.Read(t.Context(), ids[1])
		return err == nil && state.Attempt == 2 && state.Tasks["two"].Owner != ""
	})
	s.must("cancel "+ids[1], "cancelled")
	s.Records.Exec("UPDATE file_download_record SET status = 'PENDING' WHERE id = ?", ids[2])
	s.must("cancel "+ids[2], "cancelled")
	s.must("retry "+ids[3], "pushed")
	if v := s.Jobs.Wait(ids[3])[0]; v.Status != report.Failed {
		t.Errorf("%+v", v)
	}
	s.Jobs.Idle()
	s.Roles.Sweep()
	if left := e2e.Agree(s.Stack); left != "" {
		t.Error(left)
	}
}
