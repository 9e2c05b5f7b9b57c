package command

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

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

// announced waits until the schedules in a key are announced again and again.
func (s *stack) announced(key string) {
	s.Helper()
	seen, changes := "", 0
	s.Eventually("the schedules are announced", func() bool {
		if now := s.Redis.HGet(s.Context(), key, "slow").Val(); now != seen {
			seen, changes = now, changes+1
		}
		return changes > 3
	})
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
	s.announced("{" + s.Partitions.First().Keys.Prefix + "0}:schedules")
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

// TestSchedulesMissedWhileEverythingWasDown: no process and no Redis ran at the time of two schedules. One runs once,
// late, and the other waits for its next time: in a Redis that has kept its data, in one that got it back from the
// snapshot, and in one where schedulers have set the schedules anew before they got it back.
func TestSchedulesMissedWhileEverythingWasDown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ lost, schedulersFirst bool }{
		"kept": {}, "lost": {lost: true}, "set anew": {lost: true, schedulersFirst: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStackAlone(t, nil, strings.TrimRight(e2e.Slow, "\n")+`
    schedule:
      - {cron: 0 9 1 1 *, parameters: {seconds: 0.25}}
      - {cron: 0 9 1 7 *, parameters: {seconds: 0.5}, catch_up: skip}
`)
			timers := s.Partitions.First().Keys.Timers
			stop := s.Serve(s.File)
			next := s.schedules(2)
			s.Records.InSnapshot(2)
			stop()
			// Both were due two hours ago, and the snapshot has that.
			engine := s.process("-c", s.File, "serve", "--roles", "engine")
			later := float64(time.Now().Add(24 * time.Hour).UnixMilli())
			members := []redis.Z{{Member: "marker", Score: later}}
			for _, v := range next {
				members = append(members, redis.Z{Member: v.Name, Score: float64(time.Now().Add(-2 * time.Hour).UnixMilli())})
			}
			if err := s.Redis.ZAdd(t.Context(), timers, members...).Err(); err != nil {
				t.Fatal(err)
			}
			s.Records.InSnapshot(3)
			_ = engine.Process.Signal(os.Interrupt)
			_ = engine.Wait()
			if c.lost {
				s.Server.FlushAll()
			}
			s.Server.Stop()
			if err := s.Server.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := s.Redis.ZCard(t.Context(), timers).Val(); n > 0 == c.lost {
				t.Fatalf("Redis has %d timers", n)
			}

			if c.schedulersFirst {
				s.process("-c", s.File, "serve", "--roles", "scheduler")
				s.schedules(2)
			}
			stop = s.Serve(s.File)
			isNext := func() bool {
				for _, v := range next {
					if score, err := s.Redis.ZScore(t.Context(), timers, v.Name).Result(); err != nil || int64(score) != v.Due.UnixMilli() {
						return false
					}
				}
				return s.Redis.ZScore(t.Context(), timers, "marker").Val() == later
			}
			s.Eventually("it is made up for", func() bool {
				return s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE status = 'SUCCESS'") > 0
			})
			s.Eventually("both have their next time", isNext)
			outcomes := map[string][]string{}
			for _, e := range s.Redis.XRange(t.Context(), s.Partitions.First().Keys.Events, "-", "+").Val() {
				if e.Values["event"] == "timer" {
					timer := fmt.Sprint(e.Values["timer"])
					outcomes[timer] = append(outcomes[timer], fmt.Sprint(e.Values["outcome"]))
				}
			}
			want := map[string][]string{next[0].Name: {"fired", "done"}, next[1].Name: {"skipped"}}
			if next[0].Cron != "0 9 1 1 *" {
				want = map[string][]string{next[1].Name: {"fired", "done"}, next[0].Name: {"skipped"}}
			}
			if diff := cmp.Diff(want, outcomes); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			// Another restart makes up for nothing.
			stop()
			s.Serve(s.File)
			s.announced(s.Partitions.First().Keys.Schedules)
			if !isNext() {
				t.Error("another restart has changed the timers")
			}
			if n, got := s.Records.Number("SELECT COUNT(*) FROM file_download_record"), s.parameters("1"); n != 1 || got != `{"seconds":"0.25"}` {
				t.Errorf("%d records, the first with %s", n, got)
			}
		})
	}
}
