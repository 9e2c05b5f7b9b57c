package command

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/inspect/doctor"
	"github.com/fanfold/fanfold/report"
)

const historyReports = `
  good:
    listeners:
      a: {database: db, query: "SELECT seq AS k FROM seq_1_to_3"}
      b: {database: db, query: "SELECT seq AS k, seq AS v FROM seq_1_to_3 WHERE seq IN (:a.k)"}
    join: {key: k}
  bad:
    retry: {retries: 1, delay: 1ms}
    listeners:
      a: {database: db, query: "SELECT seq AS k FROM seq_1_to_3"}
      b: {database: db, query: "SELECT k, v FROM may_be_there WHERE k IN (:a.k)"}
    join: {key: k}
`

const longReports = `
  long:
    listeners:
      a: {database: db, query: "SELECT 1 AS k"}
      b: {database: db, query: "SELECT k, SLEEP(280) AS v FROM (SELECT 1 AS k) AS t WHERE k IN (:a.k)"}
    join: {key: k}
  late:
    timeout: 1s
    strict_timeout: false
    listeners:
      a: {database: db, query: "SELECT 1 AS k, SLEEP(280) AS v"}
    join: {key: k}
`

// TestHistoryWithoutRedis: what a job did is shown by the API, the page and the commands after Redis has lost all of it,
// and the file of the job its manifest.
func TestHistoryWithoutRedis(t *testing.T) {
	t.Parallel()
	s := newStack(t, historyReports+longReports)
	s.Serve(s.File)
	long := s.Records.Insert("long", "")
	s.Jobs.Push(long)
	s.Eventually("its query runs", func() bool {
		return s.Records.Number("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = ? AND INFO LIKE '%SLEEP(280)%' AND INFO NOT LIKE '%PROCESSLIST%'", s.Schema) == 1
	})
	good, bad, late := s.Jobs.Run("good", ""), s.Jobs.Run("bad", ""), s.Jobs.Run("late", "")
	if out, code := s.fanfold("cancel", long, "--reason", "nobody needs it"); code != exitOK {
		t.Fatal(out)
	}
	ids := map[string]string{"good": good.ID, "bad": bad.ID, "long": long, "late": late.ID}
	for _, id := range ids {
		s.Jobs.Wait(id)
		s.Eventually("the job has ended in Redis", func() bool {
			v, err := s.Inspect.Jobs.Get(t.Context(), id)
			return err == nil && v.Job == string(v.Status)
		})
	}
	base, page := s.browse()
	steps := func(id string) (text string, v inspect.Job) {
		t.Helper()
		code, body := s.call("GET", base+"/api/v1/jobs/"+id, "")
		if err := json.Unmarshal([]byte(body), &v); code != 200 || err != nil {
			t.Fatal(code, body, err)
		}
		for _, l := range append(slices.Clone(v.Listeners), one(v.FanIn)...) {
			text += fmt.Sprintf("%s %d %s %d %d; ", l.Name, l.Stage, l.State, l.Rows, l.Tries)
			if l.State == "done" && l.Began == nil || l.Ended == nil || l.Began != nil && l.Ended.Before(*l.Began) {
				t.Errorf("%s: %+v", id, l)
			}
		}
		return text, v
	}
	before := map[string]inspect.Job{}
	for _, id := range ids {
		_, before[id] = steps(id)
	}
	if err := s.Redis.FlushAll(context.Background()).Err(); err != nil {
		t.Fatal(err)
	}
	s.Files.Content(good)
	for name, want := range map[string]string{
		"good": "a 1 done 3 1; b 2 done 3 1; @fanin 2 done 0 1; ",
		"bad":  "a 1 done 3 1; b 2 failed 0 1; ",
		"long": "a 1 done 1 1; b 2 stopped 0 1; ",
		"late": "a 1 stopped 0 1; ",
	} {
		id := ids[name]
		got, v := steps(id)
		if got != want || v.Started == nil || v.Duration == nil || v.Report != name {
			t.Errorf("%s: %s of %+v", name, got, v)
		}
		if v, was := stable(v), stable(before[id]); v != was {
			t.Errorf("%s: it was\n%s\nand is\n%s", name, was, v)
		}
		out, code := s.fanfold("status", id)
		_, html := page("/jobs/" + id)
		for _, l := range v.Listeners {
			if code != exitOK || !regexp.MustCompile(l.Name+` +│? *`+l.State).MatchString(out) {
				t.Errorf("%s: %d %s", l.Name, code, out)
			}
			if !strings.Contains(html, `"Listener">`+l.Name+`</th>`) || !strings.Contains(html, "<svg") {
				t.Errorf("%s: %s", l.Name, html)
			}
		}
		if out, code := s.fanfold("explain", name, "--job", id); code != exitOK || !strings.Contains(out, string(v.Status)) {
			t.Errorf("%d %s", code, out)
		}
		if out, code := s.fanfold("why", id); code != exitOK {
			t.Errorf("%d %s", code, out)
		}
	}
	_, v := steps(bad.ID)
	if b := v.Listeners[1]; !strings.Contains(b.Why, "may_be_there' doesn't exist") || !strings.Contains(v.Error, b.Why) {
		t.Errorf("%+v", v)
	}
	// A retry has a history of its own, and until it ends there is none.
	s.Records.Exec("CREATE TABLE may_be_there (k INT, v INT)")
	if out, code := s.fanfold("retry", bad.ID, "--wait"); code != exitOK {
		t.Fatal(out)
	}
	if got, _ := steps(bad.ID); got != "a 1 done 3 1; b 2 done 0 1; @fanin 2 done 0 1; " {
		t.Error(got)
	}
	if n := s.Records.Number("SELECT COUNT(*) FROM fanfold_history WHERE id = ?", bad.ID); n != 2 {
		t.Errorf("%d rows for two attempts", n)
	}
}

// one returns a list of a listener; empty for nil.
func one(l *inspect.Listener) []inspect.Listener {
	if l == nil {
		return nil
	}
	return []inspect.Listener{*l}
}

// stable is what a job did, without what only Redis knows and without ages.
func stable(v inspect.Job) string {
	v.Job, v.Kept, v.Changed, v.Created, v.Ended = "", nil, nil, nil, nil
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// TestHistoryWithoutItsTable: jobs end, and doctor says what to do.
func TestHistoryWithoutItsTable(t *testing.T) {
	t.Parallel()
	s := newStack(t, historyReports)
	s.Records.Exec("DROP TABLE fanfold_history")
	s.Serve(s.File)
	for name, want := range map[string]report.Status{"good": report.Success, "bad": report.Failed} {
		v := s.Jobs.Run(name, "")
		if v.Status != want {
			t.Errorf("%+v", v)
		}
		if out, code := s.fanfold("status", v.ID); code != exitOK || !strings.Contains(out, string(want)) {
			t.Errorf("%d %s", code, out)
		}
	}
	if f := s.finding("history"); f.Result != doctor.Warn || !strings.Contains(f.Hint, "fanfold migrate") {
		t.Errorf("%+v", f)
	}
	// Like releases before: the steps are not noted either.
	s.Records.Exec("DELETE FROM fanfold_migrations")
	if out, code := s.fanfold("migrate"); code != exitOK || !strings.Contains(out, "fanfold_history") {
		t.Fatalf("%d %s", code, out)
	}
	if f := s.finding("history"); f.Result != doctor.Pass || !strings.Contains(f.Detail, "720h") {
		t.Errorf("%+v", f)
	}
}
