package command

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/inspect/doctor"
	"github.com/fanfold/fanfold/inspect/why"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

// TestShownWhereDataLies: while a job runs, the command line, the dashboard and the API show how much of it lies
// in Redis and how much in the spool, and doctor how many segments there are.
func TestShownWhereDataLies(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "spool")
	s := newStackAlone(t, nil, `
  two:
    listeners:
      large: {database: db, query: "SELECT seq AS k, SHA2(seq, 256) AS v FROM seq_1_to_5000"}
      small: {database: db, query: "SELECT 1 AS k"}
      lazy: {database: db, query: "SELECT seq AS k, SLEEP(20) AS v FROM seq_1_to_3"}
    join: {key: k}
`, "limits: {shutdown_timeout: 1s}\nspool: {url: \"file://"+folder+"\", above: 16KB}")
	if f := s.finding("spool file://" + folder); f.Result != doctor.Warn || !strings.Contains(f.Hint, "mkdir -p "+folder) {
		t.Errorf("before the start: %+v", f)
	}
	log := &testmain.Log{}
	s.ServeInto(log, "127.0.0.1:0")
	id := s.Records.Insert("two", "")
	s.Jobs.Push(id)
	var v inspect.Job
	s.Eventually("two of three listeners are done", func() bool {
		out, code := s.fanfold("status", "-o", "json", id)
		v = inspect.Job{}
		if err := json.Unmarshal([]byte(out), &v); err != nil || code != exitOK {
			t.Fatal(err, code, out)
		}
		return len(v.Listeners) == 3 && v.Listeners[0].State == "done" && v.Listeners[1].State == "done"
	})
	large, small := v.Listeners[0], v.Listeners[1]
	if v.Bytes == 0 || v.Spooled != large.Bytes || large.Rows != 5000 || large.Bytes < 100<<10 ||
		!strings.HasPrefix(large.Spool, "file://"+folder+"/two/"+id+"-1-") || small.Bytes == 0 || small.Spool != "" {
		t.Errorf("%+v", v)
	}
	out, _ := s.fanfold("status", id)
	for _, says := range []string{"done, 5,000 rows (" + large.Where() + ")", "done, 1 row (" + small.Where() + ")", " in Redis, ", v.Where()} {
		if !strings.Contains(out, says) {
			t.Errorf("%s\nwithout %q", out, says)
		}
	}
	var top inspect.Top
	if out, code := s.fanfold("top", "-o", "json"); json.Unmarshal([]byte(out), &top) != nil || code != exitOK ||
		len(top.Jobs) != 1 || top.Jobs[0].Bytes != v.Bytes || top.Jobs[0].Spooled != v.Spooled {
		t.Errorf("%d %s", code, out)
	}
	s.because(id, why.KindBarrier, "Its data: "+v.Where()+".")
	if f := s.finding("spool "); f.Result != doctor.Pass || !strings.Contains(f.Detail, "it has 1 segment (") {
		t.Errorf("%+v", f)
	}
	site := log.Lines("serving HTTP")[0]
	_, site, _ = strings.Cut(site, "url=")
	site, _, _ = strings.Cut(site, " ")
	for path, says := range map[string]string{
		"":                  "<dt>Spool</dt><dd>reachable</dd>",
		"jobs":              `data-label="Data">` + v.Where() + "</td>",
		"jobs/" + id:        "<dd>" + v.Where() + "</dd>",
		"api/v1/jobs/" + id: `"spool":"` + large.Spool + `"`,
	} {
		s.Eventually(path+" says "+says, func() bool {
			answer, err := http.Get(site + path)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			text, _ := io.ReadAll(answer.Body)
			return strings.Contains(string(text), says)
		})
	}
	if out, code := s.fanfold("cancel", id); code != exitOK {
		t.Fatal(out)
	}
	s.Eventually("its segments are deleted", func() bool {
		left, _ := filepath.Glob(folder + "/two/*.zst")
		return len(left) == 0
	})
}

// TestWhyTheSpoolFails: why names the spool while it is away; the job, which uses no try, continues when it is back.
func TestWhyTheSpoolFails(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "spool")
	s := newStack(t, `
  large:
    listeners: {large: {database: db, query: "SELECT seq AS k FROM seq_1_to_5000"}}
`, "spool: {url: \"file://"+folder+"\", above: 1KB}")
	log := &testmain.Log{}
	s.ServeInto(log)
	s.Eventually("it serves", func() bool { return len(log.Lines("msg=serving")) > 0 })
	if err := os.Rename(folder, folder+"-away"); err != nil {
		t.Fatal(err)
	}
	id := s.Records.Insert("large", "")
	s.Jobs.Push(id)
	v := s.because(id, why.KindSpoolFails, "It waits for large: it failed and is tried again", "spool: ", "fanfold doctor checks the spool")
	if v.Steps[0].Try != 1 {
		t.Errorf("an outage used a try: %+v", v.Steps[0])
	}
	if err := os.Rename(folder+"-away", folder); err != nil {
		t.Fatal(err)
	}
	if out, code := s.fanfold("delay", "run", id); code != exitOK {
		t.Log(out) // it was tried by itself
	}
	s.Jobs.Wait(id)
}

// TestAJobLargerThanTheSpool: it fails at once, and its error names the limit.
func TestAJobLargerThanTheSpool(t *testing.T) {
	t.Parallel()
	s := newStack(t, `
  large:
    listeners: {large: {database: db, query: "SELECT seq AS k, SHA2(seq, 256) AS v FROM seq_1_to_60000"}}
`, "spool: file://"+t.TempDir()+"\nlimits: {spool_bytes: 1MB}")
	s.Serve(s.File)
	id := s.Records.Insert("large", "")
	s.Jobs.Push(id)
	s.because(id, why.KindEnded, "the job's data in the spool exceeds limits.spool_bytes")
}
