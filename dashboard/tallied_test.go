package dashboard

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/aged"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/tally"
	"github.com/google/go-cmp/cmp"
)

// tallied returns pages whose counters have these texts, by how many steps ago they are.
func tallied(now time.Time, counters map[int]map[string]string, flags ...flag) talliedPages {
	reports := map[string]*report.Report{}
	for _, name := range []string{"orders", "other"} {
		reports[name] = &report.Report{Name: name, Stages: []report.Stage{{Listeners: []report.Listener{{Name: "a", Source: "db"}, {Name: "b", Source: "db"}, {Name: "c", Source: "api"}}}}}
	}
	return talliedPages{
		Options{Inspect: inspect.New(inspect.Options{Config: inspect.Config{Reports: reports}}), Bounds: map[string]report.Bound{"db": {Parallel: 4}}},
		&aged.Cache[period, buckets]{Ask: func(_ context.Context, p period) (all buckets, _ error) {
			for at := now.Add(p.step - p.of).Truncate(p.step); !at.After(now); at = at.Add(p.step) {
				all = append(all, tally.NewBucket(at))
			}
			for ago, texts := range counters {
				all[len(all)-1-ago].Fill(texts)
			}
			return all, nil
		}},
		&aged.Cache[time.Duration, []flag]{Ask: func(context.Context, time.Duration) ([]flag, error) { return flags, nil }},
	}
}

// TestThroughput: bars, lines and marks stay in their picture for every range, and the table has the same numbers.
func TestThroughput(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_700_000_000_000)
	p := tallied(now, map[int]map[string]string{
		0: {"r/orders": "SUCCESS=7 FAILED=2 run20=9 wait0=9", "r/other": "PARTIAL=4 run60=4"},
		3: {"r/orders": "CANCELLED=1 run3=1"}, 5: {"v/2.0": "n=1"},
	}, flag{At: now.Add(-10 * time.Minute), Letter: "P", Text: "pause listener/a"},
		flag{At: now.Add(-599 * time.Second), Letter: "R", Text: "resume listener/a"}, flag{At: now.Add(-400 * day), Letter: "R"})
	for _, w := range windows {
		content := func(query string) throughput {
			_, v, err := p.throughput(t.Context(), httptest.NewRequest("GET", "/throughput?range="+strings.ReplaceAll(w.Name, " ", "+")+query, nil), &sample{})
			if err != nil {
				t.Fatal(err)
			}
			return v.(throughput)
		}
		v := content("")
		if len(v.Graphs) != 3 || len(v.Graphs[0].Bars) != 4 || len(v.Graphs[0].Flags) != 2 || !strings.Contains(fmt.Sprint(v.Graphs[0].Flags), " PR pause listener/a; resume listener/a}") || len(v.Graphs[1].Lines[0].Points) != 1 || len(v.Graphs[2].Lines[1].Points) != 2 {
			t.Errorf("%s: %+v", w.Name, v)
		}
		for _, g := range v.Graphs {
			if len(g.X) < 4 || len(g.Y) < 2 || len(g.Y) > maxSteps+2 || len(g.Columns) < 50 {
				t.Errorf("%s, %s: %d ticks, %v, %d columns", w.Name, g.Title, len(g.X), g.Y, len(g.Columns))
			}
			for _, b := range append(g.Bars, g.Columns...) {
				if b.X < graphLeft || b.X+b.Width > graphWidth-graphRight+0.01 || b.Y < graphTop-0.01 || b.Y+b.Height > g.Bottom+0.01 || b.Height <= 0 {
					t.Errorf("%s, %s: %+v", w.Name, g.Title, b)
				}
			}
			for i := 1; i < len(g.Bars); i++ {
				if below, b := g.Bars[i-1], g.Bars[i]; b.X == below.X && b.Y+b.Height > below.Y+0.01 {
					t.Errorf("%s: %+v covers %+v", w.Name, b, below)
				}
			}
			for _, l := range g.Lines {
				for _, at := range l.Points {
					if at.X < graphLeft || at.X > graphWidth || at.Y < graphTop-0.01 || at.Y > g.Bottom+0.01 {
						t.Errorf("%s, %s: %+v", w.Name, g.Title, at)
					}
				}
			}
		}
		last := v.Graphs[0].Columns[len(v.Graphs[0].Columns)-1]
		if want := "7 SUCCESS, 4 PARTIAL, 2 FAILED, wait p50 1ms, p95 1ms, run p50 861ms, p95 "; !strings.HasPrefix(last.Text, want) {
			t.Errorf("%s", last.Text)
		}
		if rows := content("&as=table").Table.Rows; rows[0].Cells[1].Text != "7" || rows[0].Cells[2].Text != "4" || rows[3].Cells[4].Text != "1" || rows[0].Cells[0].At != v.Graphs[0].Columns[len(v.Graphs[0].Columns)-1].At {
			t.Errorf("%+v", rows[:4])
		}
		if one := content("&report=other"); len(one.Graphs[0].Bars) != 1 || !one.Reports[2].Chosen {
			t.Errorf("%+v", one)
		}
		if none := content("&report=none"); !none.Empty || none.Graphs != nil {
			t.Errorf("%+v", none)
		}
	}
}

// TestHeat: a cell has the tries of all listeners of its source, and its level. A source without tasks has no cell.
func TestHeat(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_700_000_000_000)
	p := tallied(now, map[int]map[string]string{
		0: {"l/a": "ok=1 took0=1 rows=5", "l/b": "ok=99 took24=99 failed=100"}, 1: {"l/a": "failed=1"},
	})
	s := &sample{
		At: now, Sources: []source{{Name: "api", Unreachable: "refused", Since: now.Add(-time.Hour)}, {Name: "db"}},
		Pauses: []inspect.Pause{{What: "listener/b", Since: now.Add(-time.Minute)}, {What: "listener/x", Since: now}},
	}
	for query, want := range map[string]string{
		"range=24+h": "level0 1, level2 1", "range=30+d&value=failed": "level3 1, level4 1", "range=1+h&value=failed": "level3 1, level4 1",
	} {
		_, c, err := p.sources(t.Context(), httptest.NewRequest("GET", "/sources?"+query, nil), s)
		if err != nil {
			t.Fatal(err)
		}
		rows := c.(heat).Rows
		var levels []string
		for _, b := range rows[1].Bars {
			levels = append(levels, fmt.Sprint(b.Class, " ", strings.Count(b.Path, "M")))
		}
		if len(rows) != 2 || len(rows[0].Cells) != 0 || len(rows[1].Cells) != 2 || strings.Join(levels, ", ") != want {
			t.Errorf("%s: %q, %+v", query, levels, rows)
		}
		if db := rows[1]; db.Slots != "0 of 4" || db.Text != "100 tasks, p95 3.4s, 101 failed" || len(db.State) != 2 || db.State[1].Name != "b" {
			t.Errorf("%+v", db)
		}
		if api := rows[0]; api.Slots != "no limit" || api.Text != "no tasks" || api.State[0].State != "failed" {
			t.Errorf("%+v", api)
		}
	}
	_, c, err := p.sources(t.Context(), httptest.NewRequest("GET", "/sources?as=table", nil), s)
	if err != nil {
		t.Fatal(err)
	}
	if rows := c.(heat).Table.Rows; len(rows) != 2 || rows[0].Cells[2].Text != "100" || rows[0].Cells[7].Text != "50.0 %" || rows[1].Cells[6].Text != "1" {
		t.Errorf("%+v", rows)
	}
}

// TestAxes end at round values that are not below the highest one.
func TestAxes(t *testing.T) {
	t.Parallel()
	for highest, want := range map[float64]string{0: "0 1", 1: "0 1", 4: "0 1 2 3 4", 7: "0 2 4 6 8", 4321: "0 1,000 2,000 3,000 4,000 5,000"} {
		u, ticks := counts(0, 100, highest)
		var texts []string
		for _, one := range ticks {
			texts = append(texts, one.Text)
		}
		if got := strings.Join(texts, " "); got != want || u.y(highest) < 0 || u.y(0) != 100 {
			t.Errorf("%v: %s, %+v", highest, got, u)
		}
	}
	for highest, want := range map[float64]string{0: "1ms", 0.02: "20ms", 90: "1m30s", 100: "2m", 86400 * 40: "960h"} {
		if u, ticks := durations(0, 100, highest); ticks[len(ticks)-1].Text != want || u.y(highest) < 0 {
			t.Errorf("%v: %+v, %+v", highest, ticks, u)
		}
	}
}

// TestHeldSources: a row pauses its source for a time with one button. That of a paused one resumes it and has the
// reason, and a limit that people have set ends with one button.
func TestHeldSources(t *testing.T) {
	t.Parallel()
	s := &sample{
		At: time.Now(), Pauses: []inspect.Pause{{What: "source/db", Reason: "slow"}, {What: "listener/c"}},
		Limits: []inspect.Limit{{What: "source/api", Limit: 2}},
	}
	_, c, err := tallied(time.Now(), nil).sources(t.Context(), httptest.NewRequest("GET", "/sources", nil), s)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range c.(heat).Rows {
		line := row.Name + " " + row.Slots + " " + row.Reason + ":"
		for _, a := range slices.Concat(row.Pauses, row.Limits) {
			line += " " + a.Label + " " + a.To
			for _, f := range a.Fields {
				line += " " + f.Name + "=" + f.Value
			}
		}
		got = append(got, line)
	}
	want := []string{
		"api 0 of 2 : 30 min /sources/api/pause for=30m 1 h /sources/api/pause for=1h 2 h /sources/api/pause for=2h … /sources/api/pause " +
			"Limit … /sources/api/limit End limit /sources/api/limit",
		"db 0 of 4 slow: Resume /sources/db/resume Limit … /sources/db/limit",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
