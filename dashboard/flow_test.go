package dashboard

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/scripts/tally"
	"github.com/fanfold/fanfold/sink"
)

// TestFlow: a box says the worst state of a listener, and an arrow the column that passes on.
func TestFlow(t *testing.T) {
	t.Parallel()
	of := planned()
	of.Stages[0].Listeners[0].Source, of.Stages[0].Listeners[1].Source = "shop", "crm"
	rows := int64(70)
	past := reportPast{Bucket: tally.NewBucket(time.Now()), Last: &inspect.Job{ID: "9", Status: report.Partial, Rows: &rows}, Made: &sink.Manifest{Bytes: 2048}}
	past.Listeners["ids"] = &tally.Tried{OK: 2, Rows: 21, Failed: 3, Took: tally.Histogram{20: 3}}
	s := &sample{
		Sources: []source{{Name: "crm"}, {Name: "shop", Unreachable: "refused"}},
		Pauses:  []inspect.Pause{{What: scripts.PausedListener("<b>")}},
		Figures: inspect.Sums{{"tasks_workers", "users"}: 0, {"tasks_workers", "ids"}: 1, {"tasks_pending", "ids"}: 1},
		Jobs: []inspect.Running{
			{ID: "1", Report: "paid", Status: job.StatusRun, Open: []string{"ids"}}, {ID: "2", Report: "paid", Status: job.StatusRun, Open: []string{"ids"}},
			{ID: "3", Report: "paid", Status: job.StatusFold}, {ID: "4", Report: "other", Status: job.StatusFold, Open: []string{"ids"}},
		},
	}
	v := &flow{Report: of}
	pages := &flowPages{listPages: listPages{o: Options{Inspect: inspect.New(inspect.Options{})}}}
	v.draw(pages.steps(of, past, s))
	want := map[string]string{
		"orders":                                "bad: orders, shop, source does not answer, 0 running, 0 waiting",
		"ids":                                   "warn: ids, crm, 3 failed tries, p50 861ms, p95 861ms, about 10 rows, 1 running, 1 waiting",
		"users":                                 "bad: users, no worker, 0 running, 0 waiting, :ids.id",
		"a_long_schema_name.and_a_longer_table": ": a_long_schema_name.and_a_longer_table, idle, 0 running, 0 waiting",
		"<b>":                                   "warn: <b>, paused, 0 running, 0 waiting",
		"fold":                                  "good: fold, works, 70 rows, 1 running, 0 waiting",
		"file":                                  "warn: file, not complete, 70 rows, 2.0 KB",
	}
	got := map[string]string{}
	for _, s := range v.Steps {
		got[s.Name] = s.Class + ": " + s.Says()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var arrows []string
	for _, e := range v.Edges {
		arrows = append(arrows, e.Title)
	}
	if diff := cmp.Diff([]string{
		"orders → fold", "ids → users: :ids.id, about 10 rows", "users → fold", "a_long_schema_name.and_a_longer_table → fold", "fold → file, 70 rows",
	}, arrows); diff != "" {
		t.Error(diff)
	}
	for _, s := range v.Steps {
		if s.X < 0 || s.X+flowWidth > v.Width || s.Y < 0 || s.Y+flowHeight > v.Height {
			t.Errorf("%+v is not in %d × %d", s, v.Width, v.Height)
		}
		for _, l := range s.Lines() {
			if strings.Contains(l.Text, "%!") || l.Y > s.Y+flowHeight {
				t.Errorf("%+v", l)
			}
		}
	}
}
