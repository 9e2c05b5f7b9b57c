package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

// whoReport writes the name of its user into its file.
const whoReport = `
  who:
    parameters: {who: string, seconds: {type: decimal, default: "0"}}
    retry: 0
    stages: [{listeners: [{name: one, database: db, query: "SELECT :who AS who, SLEEP(:seconds) AS v"}]}]
`

func whoFile(who string) string { return "who,v\r\n" + who + ",0\r\n" }

func whoParameters(who string, seconds float64) string {
	return fmt.Sprintf(`{"who": %q, "seconds": "%g"}`, who, seconds)
}

// shareSink makes the stack use the sink of another one.
func (s *stack) shareSink(other *stack) {
	s.t.Helper()
	text, err := os.ReadFile(s.config)
	if err != nil {
		s.t.Fatal(err)
	}
	changed := strings.Replace(string(text), "sink: file://"+s.dir+"/files", "sink: file://"+other.dir+"/files", 1)
	if err := os.WriteFile(s.config, []byte(changed), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.b = s.open(s.config)
}

// inSink returns the files and manifests of all reports.
func (s *stack) inSink() []string {
	s.t.Helper()
	found, err := filepath.Glob(s.dir + "/files/*/[^.]*")
	if err != nil {
		s.t.Fatal(err)
	}
	return found
}

// agree describes the differences between records and sink. A record that is SUCCESS or PARTIAL
// points to a complete file with its manifest, other records point to no file, and the sink has no
// other files.
func agree(stacks ...*stack) string {
	wanted := map[string]bool{}
	for _, s := range stacks {
		s.t.Helper()
		records, err := s.b.Records.List(s.t.Context(), record.Filter{}, 10000)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, r := range records {
			if r.Status.HasFile() != (r.File != "") {
				return fmt.Sprintf("record %s is %s and has the file %q", r.ID, r.Status, r.File)
			}
			if r.File == "" {
				continue
			}
			file := strings.TrimPrefix(r.File, "file://")
			for _, name := range []string{file, file + ".manifest.json"} {
				if _, err := os.Stat(name); err != nil {
					return fmt.Sprintf("record %s is %s: %v", r.ID, r.Status, err)
				}
				if wanted[name] {
					return "two records point to " + name
				}
				wanted[name] = true
			}
		}
	}
	for _, name := range stacks[0].inSink() {
		if !wanted[name] {
			return "no record points to " + name
		}
	}
	return ""
}

// TestInstallationsShareASink: two installations with the same reports, ids and sink create,
// replace and delete only their own files.
func TestInstallationsShareASink(t *testing.T) {
	t.Parallel()
	a := newStack(t, whoReport, "limits: {lease: 1s, grace: 1s}")
	b := newStack(t, whoReport, "limits: {lease: 1s, grace: 1s}")
	b.shareSink(a)
	a.serve(a.config)
	b.serve(b.config)
	const jobs = 6
	var ids []string
	check := func(when string, s *stack, who string, ids ...string) {
		t.Helper()
		for _, v := range s.wait(ids...) {
			if got := s.content(v); got != whoFile(who) {
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
			id := s.insert("who", whoParameters(who[s], 0))
			if s == a {
				ids = append(ids, id)
			} else if id != ids[i] {
				t.Fatalf("%s and %s: the ids are not the same", id, ids[i])
			}
			s.push(id)
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
	a.wait(append(ids, ids...)...)
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
		s.exec("UPDATE file_download_record SET parameters = ? WHERE id = ?", whoParameters("x", 30), ids[i])
		if out, code := s.fanfold("retry", ids[i]); code != exitOK {
			t.Fatalf("%d %s", code, out)
		}
		s.taken(ids[i])
		s.must("cancel "+ids[i], "cancelled")
		s.exec("UPDATE file_download_record SET status = 'PENDING' WHERE id = ?", ids[i+2])
		s.must("cancel "+ids[i+2], "cancelled")
	}
	a.eventually("records and sink agree", func() bool { return agree(a, b) == "" })
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
	s := newStack(t, whoReport, "limits: {lease: 1s, grace: 1s}")
	s.serve(s.config)
	original := s.run("who", whoParameters("original", 0))
	s.content(original)
	if out, code := s.fanfold("retry", "--wait", original.ID); code != exitOK {
		t.Fatalf("%d %s", code, out)
	}
	original = s.wait(original.ID)[0]
	stays := func(when string) {
		t.Helper()
		if got := s.content(s.wait(original.ID)[0]); got != whoFile("original") {
			t.Errorf("%s: %q", when, got)
		}
		if _, err := os.Stat(strings.TrimPrefix(original.File, "file://") + ".manifest.json"); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	// copied copies the row of the original, with its attempt and its file.
	copied := func(parameters string) string {
		t.Helper()
		result, err := s.db.ExecContext(t.Context(), `INSERT INTO file_download_record (report, parameters, status, attempt, file)
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
	id := copied(whoParameters("copy", 0))
	s.push(id)
	if v := s.wait(id)[0]; s.content(v) != whoFile("copy") || v.Attempt != 3 {
		t.Errorf("%+v", v)
	}
	stays("a copy that succeeds")

	s.exec("UPDATE file_download_record SET file = ? WHERE id = ?", original.File, id)
	if out, code := s.fanfold("retry", "--wait", id); code != exitOK {
		t.Fatalf("%d %s", code, out)
	}
	stays("a retry of a row that names the file")

	wrong := copied(`{"nobody": 1}`)
	s.push(wrong)
	if v := s.wait(wrong)[0]; v.Status != report.Failed {
		t.Errorf("%+v", v)
	}
	stays("a copy that fails before its start")

	pending := copied(whoParameters("copy", 0))
	s.must("cancel "+pending, "cancelled")
	running := copied(whoParameters("copy", 30))
	s.push(running)
	s.taken(running)
	s.must("cancel "+running, "cancelled")
	s.idle()
	stays("copies that are cancelled")
	s.eventually("records and sink agree", func() bool { return agree(s) == "" })
	s.sweep()
	stays("in the end")
	if left := agree(s); left != "" {
		t.Error(left)
	}
}

// TestRetryAgainstCancel: retry and cancel race. In the end, either the record is SUCCESS and has
// its file, or it is CANCELLED and neither the record nor the sink has a file.
func TestRetryAgainstCancel(t *testing.T) {
	t.Parallel()
	s := newStack(t, whoReport, "limits: {lease: 1s, grace: 1s}")
	s.serve(s.config)
	var ids []string
	for range retryPairs {
		ids = append(ids, s.insert("who", whoParameters("x", 0)))
	}
	s.push(ids...)
	for _, v := range s.wait(ids...) {
		s.content(v)
	}
	var group errgroup.Group
	group.SetLimit(8)
	retrying, cancelling := s.open(s.config), s.open(s.config)
	for i, id := range ids {
		start, retried := make(chan struct{}), make(chan struct{})
		group.Go(func() error {
			defer close(retried)
			<-start
			return retrying.Operate.Jobs.Retry(t.Context(), id)
		})
		group.Go(func() error {
			close(start)
			later := time.NewTimer(time.Duration(i%16) * 4 * time.Millisecond) // before its start, in its query, or as it ends
			defer later.Stop()
			<-later.C
			for last := false; ; {
				_, err := cancelling.Operate.Jobs.Cancel(t.Context(), id, "not now")
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
	for _, v := range s.wait(ids...) {
		ended[v.Status]++
	}
	if t.Logf("%v", ended); ended[report.Cancelled] == 0 {
		t.Error("no cancel was in time: this proves nothing")
	}
	s.idle()
	s.eventually("records and sink agree", func() bool { return agree(s) == "" })
	if n := s.number("SELECT COUNT(*) FROM file_download_record WHERE (file IS NULL) <> (row_count IS NULL)"); n != 0 {
		t.Errorf("%d records have rows without a file, or a file without rows", n)
	}
}

// retryPairs is the number of races.
const retryPairs = 40

// TestARecordWhoseReportIsChanged: if the report of a record is changed, the next sweep deletes its
// earlier file, which is in another folder, however the next run ends.
func TestARecordWhoseReportIsChanged(t *testing.T) {
	t.Parallel()
	s := newStack(t, whoReport+strings.Replace(strings.Replace(whoReport, "who:\n", "other:\n", 1), "name: one", "name: two", 1)+`
  bad:
    retry: 0
    stages: [{listeners: [{name: three, database: db, query: "SELECT k FROM no_such_table"}]}]
`, "limits: {lease: 1s, grace: 1s}")
	s.serve(s.config)
	var ids []string
	for range 4 {
		ids = append(ids, s.insert("who", whoParameters("x", 0)))
	}
	s.push(ids...)
	for _, v := range s.wait(ids...) {
		s.content(v)
	}
	s.exec("UPDATE file_download_record SET report = 'other' WHERE id IN (?, ?, ?)", ids[0], ids[1], ids[2])
	s.exec("UPDATE file_download_record SET report = 'bad', parameters = '{}' WHERE id = ?", ids[3])
	if out, code := s.fanfold("retry", "--wait", ids[0]); code != exitOK {
		t.Errorf("%d %s", code, out)
	}
	s.exec("UPDATE file_download_record SET parameters = ? WHERE id = ?", whoParameters("x", 30), ids[1])
	s.must("retry "+ids[1], "pushed")
	s.eventually("it runs", func() bool {
		state, err := s.b.Partitions.First().Jobs.Read(t.Context(), ids[1])
		return err == nil && state.Attempt == 2 && state.Tasks["two"].Owner != ""
	})
	s.must("cancel "+ids[1], "cancelled")
	s.exec("UPDATE file_download_record SET status = 'PENDING' WHERE id = ?", ids[2])
	s.must("cancel "+ids[2], "cancelled")
	s.must("retry "+ids[3], "pushed")
	if v := s.wait(ids[3])[0]; v.Status != report.Failed {
		t.Errorf("%+v", v)
	}
	s.idle()
	s.sweep()
	if left := agree(s); left != "" {
		t.Error(left)
	}
}

// sweep deletes the orphaned files of the stack's sink, whatever their age.
func (s *stack) sweep() {
	s.t.Helper()
	e, err := engine.New(engine.Options{Redis: s.b.Redis, Scripts: s.b.Partitions.First(), Records: s.b.Records, Consumer: "sweep"})
	if err != nil {
		s.t.Fatal(err)
	}
	f, err := files.New(e, files.Options{
		Sink: s.dirSink(), Formats: kinds.Standard().Formats, Installation: s.installation(), Deletions: s.b.Records.Deletions(), OrphanAge: 1,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := f.Sweep(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}
