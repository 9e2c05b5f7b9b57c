package dashboard

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/operate"
	"github.com/fanfold/fanfold/report"
	"github.com/google/go-cmp/cmp"
)

// TestFailures: the page of dead jobs counts them by report, also those since noon, and the filter by report is in its
// address. Only who may operate all jobs of a report has its buttons.
func TestFailures(t *testing.T) {
	t.Parallel()
	d := New(Options{Inspect: &inspect.Inspector{}, Operate: &operate.Operator{}})
	now := time.Now()
	noon, since := lastNoon(now)
	dead := func(report string, at time.Time) inspect.DeadJob {
		return inspect.DeadJob{ID: report, Report: report, Error: "no table " + report, When: at}
	}
	d.sampler.now.Store(&sample{At: now, Full: true, Dead: []inspect.DeadJob{
		dead("daily", now), dead("daily", noon), dead("daily", noon.Add(-time.Second)), dead("weekly", noon.Add(-time.Hour)), dead("", now),
	}})
	site, err := access.New(report.Site{
		TrustedHeader: report.TrustedHeader{Name: "X-User", Proxies: []string{"192.0.2.1"}},
		Groups: []report.Group{
			{Users: []string{"*"}, May: []string{report.See}},
			{Users: []string{"keeper"}, May: []string{report.Operate}, Reports: []string{"daily"}},
			{Users: []string{"owner"}, May: []string{report.Operate}, Own: true},
		},
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(user, method, path string) (int, string) {
		t.Helper()
		r, w := httptest.NewRequestWithContext(t.Context(), method, path, nil), httptest.NewRecorder()
		r.Header.Set("X-User", user)
		site.Login("dashboard", d).ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for user, buttons := range map[string]string{"keeper": "daily", "owner": "", "reader": ""} {
		_, text := ask(user, "GET", "/dead")
		for _, name := range []string{"daily", "weekly"} {
			if got := strings.Contains(text, "/reports/"+name+"/retry"); got != (name == buttons) {
				t.Errorf("%s, %s: a button: %v in %s", user, name, got, text)
			}
			if name == buttons {
				continue
			}
			if code, text := ask(user, "POST", "/reports/"+name+"/retry"); code != 403 {
				t.Errorf("%s retries %s: %d %s", user, name, code, text)
			}
		}
	}
	_, text := ask("keeper", "GET", "/dead?report=daily")
	for _, want := range []string{"Retry 2 " + since + " <", "Retry all 3 <", `<option selected>daily`, `<option>weekly`, "no table daily"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	if strings.Contains(text, "no table weekly") || strings.Contains(text, "report=weekly") {
		t.Errorf("a report that was not asked for: %s", text)
	}
	want := []failures{{"daily", 2, 3}, {"weekly", 0, 1}}
	if diff := cmp.Diff(want, failuresOf(d.sampler.latest(t.Context()).Dead, noon)); diff != "" {
		t.Error(diff)
	}
}

// TestProgress: a retry only pushes jobs. It says so, and where they are.
func TestProgress(t *testing.T) {
	t.Parallel()
	one := sweep{Noun: "job", Past: ranAgain, Report: "daily", Swept: operate.Swept{Done: 40}}
	if got := one.Progress() + " " + one.To(); got != "40 jobs run again /jobs?q=daily" {
		t.Error(got)
	}
	one.Past = ""
	if got := one.Progress() + " " + one.To(); got != "40 jobs done " {
		t.Error(got)
	}
}
