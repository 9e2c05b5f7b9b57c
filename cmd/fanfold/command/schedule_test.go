package command

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/inspect"
)

// TestSchedulesInTheDocs fires the schedules of the guides. The reports have the rows of the last 7 days, and from
// another date if one is passed.
func TestSchedulesInTheDocs(t *testing.T) {
	t.Parallel()
	for page, c := range map[string]struct{ report, fired, parameters string }{
		"docs/guides/timers.md":       {"weekly-withdrawals", `{"from":"DAY"}`, `{"from": "2024-01-01"}`},
		"docs/guides/celery-chord.md": {"tagged-withdrawals", `{"from":"DAY","tag":"vip"}`, `{"tag": "vip", "from": "2024-01-01"}`},
	} {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			s := newStackAlone(t, nil, e2e.Slow)
			for _, statement := range []string{
				"CREATE TABLE vs_withdraw (user_id INT, amount DECIMAL(10,2), created_at DATETIME)",
				"INSERT INTO vs_withdraw VALUES (1, 1.50, UTC_TIMESTAMP() - INTERVAL 6 DAY), (2, 2.50, UTC_TIMESTAMP() - INTERVAL 9 DAY)",
				"CREATE TABLE vs_user_tag_relation (user_id INT, tag VARCHAR(9))",
				"INSERT INTO vs_user_tag_relation VALUES (1, 'vip'), (2, 'vip')",
			} {
				s.Records.Exec(statement)
			}
			whole, databases := "", "databases: {db: {dsn: \"{dsn}\"}, user: {dsn: \"{dsn}\"}, fund: {dsn: \"{dsn}\"}}"
			for _, block := range fenced(t, page, "yaml") {
				if strings.HasPrefix(block, "reports:") || strings.HasPrefix(block, "    schedule:") {
					whole += strings.TrimPrefix(block, "reports:\n")
				}
			}
			s.File = s.Write("schedule.yaml", whole, databases)
			s.Serve(s.File)
			name := s.schedules(1)[0].Name
			days := []string{s.day(), ""}
			s.must("timer fire "+name, "")
			s.Eventually("the schedule has submitted", func() bool { return s.Records.Number("SELECT COUNT(*) FROM file_download_record") == 1 })
			days[1] = s.day() // midnight may have passed
			if got := s.Files.Content(s.Jobs.Wait("1")[0]); !strings.Contains(got, "1.50") || strings.Contains(got, "2.50") {
				t.Errorf("%q", got)
			}
			got := s.parameters("1")
			if got != strings.Replace(c.fired, "DAY", days[0], 1) && got != strings.Replace(c.fired, "DAY", days[1], 1) {
				t.Errorf("parameters %s on %v", got, days)
			}
			if got := s.Jobs.Succeed(c.report, c.parameters); !strings.Contains(got, "1.50") || !strings.Contains(got, "2.50") {
				t.Errorf("%q", got)
			}
		})
	}
}

// schedules waits until so many timers are listed, and returns them.
func (s *stack) schedules(n int) (listed []inspect.Timer) {
	s.Eventually("the timers are listed", func() bool {
		out, _ := s.fanfold("timer", "ls", "-o", "json")
		listed = nil
		return json.Unmarshal([]byte(out), &listed) == nil && len(listed) == n
	})
	return listed
}

// day is the day a week ago in the time zone of the guides.
func (s *stack) day() string {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		s.Fatal(err)
	}
	return time.Now().In(berlin).AddDate(0, 0, -7).Format(time.DateOnly)
}

func (s *stack) parameters(id string) string {
	found, err := s.Process.Records.Read(s.Context(), []string{id})
	if err != nil {
		s.Fatal(err)
	}
	return string(found[id].Parameters)
}

// TestScheduleFromConfigurationToRecord: a schedule fires without any command. An edit, a pause and a removal take effect at
// a restart, in several partitions.
func TestScheduleFromConfigurationToRecord(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	file := func(schedule string) string {
		return s.Divided("scheduled.yaml", 3, strings.TrimRight(e2e.Slow, "\n")+"\n    schedule: "+schedule+"\n")
	}
	s.File = file(`[{every: 2s, parameters: {seconds: 0.25}}]`)
	s.must("validate", `schedule: slow 2s {"seconds":"0.25"}`)
	stop := s.Serve(s.File)
	s.Eventually("two files", func() bool {
		return s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE status = 'SUCCESS'") >= 2
	})
	if got := s.parameters("2"); got != `{"seconds":"0.25"}` {
		t.Error(got)
	}
	v := s.schedules(1)[0]
	if v.Report != "slow" || v.Definition != "reports.slow.schedule[0]" || v.Every != "2s" || v.State == "paused" {
		t.Errorf("%+v", v)
	}
	s.must("timer pause "+v.Name, "paused")
	if out, code := s.fanfold("timer", "rm", v.Name); code != exitUsage || !strings.Contains(out, "remove reports.slow.schedule[0] from it") {
		t.Error(code, out)
	}
	stop()
	stop = s.Serve(s.File)
	seen, changes := "", 0
	s.Eventually("it is announced again and again", func() bool {
		now := s.Redis.HGet(t.Context(), "{"+s.Partitions.First().Keys.Prefix+"0}:schedules", "slow").Val()
		if now != seen {
			seen, changes = now, changes+1
		}
		return changes > 3
	})
	s.must("timer ls", "paused")
	stop()
	// Its time is another one: it is set anew.
	s.File = file(`[{cron: 0 9 1 1 *, parameters: {seconds: 1}}]`)
	stop = s.Serve(s.File)
	s.Eventually("it is edited", func() bool { v := s.schedules(1)[0]; return v.Cron == "0 9 1 1 *" && v.State == "set" })
	s.must("timer pause "+s.schedules(1)[0].Name, "paused")
	stop()
	s.File = s.Divided("scheduled.yaml", 3, e2e.Slow)
	s.Serve(s.File)
	s.schedules(0)
}

// TestSchedulesOutliveRedis: a paused schedule is paused, and another one is set, after a loss of Redis.
func TestSchedulesOutliveRedis(t *testing.T) {
	t.Parallel()
	s := newStack(t, strings.TrimRight(e2e.Slow, "\n")+`
    schedule: [{cron: 0 9 1 1 *}, {cron: 0 9 1 7 *}]
`)
	s.Serve(s.File)
	paused := s.schedules(2)[0]
	s.must("timer pause "+paused.Name, "paused")
	before := s.schedules(2)
	s.must("pause listener one", "listener/one")
	s.Records.InSnapshot(3) // so it has what was paused before, too
	s.Server.FlushAll()
	s.Eventually("both are as before", func() bool { return cmp.Equal(s.schedules(2), before) })
}
