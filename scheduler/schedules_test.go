package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
)

const (
	monday  = "0 9 * * mon"
	tuesday = "0 9 * * tue"
)

// schedulesBundle has processes with schedules of their own.
type schedulesBundle struct {
	*timersBundle
	of *report.Report
}

func newSchedulesBundle(t *testing.T) *schedulesBundle {
	b := &schedulesBundle{newTimers(t, testmain.SharedRedis(t)), &report.Report{
		Name: "orders", TimeZone: "Pacific/Auckland", Parameters: []report.Parameter{{Name: "from", Type: report.ParamDate}},
	}}
	b.options.Reports = map[string]*report.Report{"orders": b.of}
	b.options.Schedules = true
	return b
}

// timer is a schedule of the report.
func (b *schedulesBundle) timer(cron, from string, missed report.Missed) *report.Timer {
	b.t.Helper()
	parsed, wrong := report.ParseCron(cron)
	if wrong != nil {
		b.t.Fatal(wrong)
	}
	d := &report.Timer{Name: from, Cron: parsed, Missed: missed, MissedAfter: time.Minute, Retry: report.DefaultRetry}
	d.Scheduled(report.Schedule{Report: b.of, Parameters: json.RawMessage(`{"from":"` + from + `"}`)})
	return d
}

// process is what a process does that has these schedules.
func (b *schedulesBundle) process(timers ...*report.Timer) *schedules {
	o := b.options
	o.Timers = timers
	s := newSchedules(o)
	s.timeout = time.Minute
	return s
}

func (b *schedulesBundle) once(all ...*schedules) {
	b.t.Helper()
	for _, s := range all {
		if _, err := s.once(b.t.Context()); err != nil {
			b.t.Fatal(err)
		}
	}
}

// ends lets the time pass after which processes that are silent have ended.
func (b *schedulesBundle) ends() {
	b.t.Helper()
	for name, text := range b.client.HGetAll(b.t.Context(), b.s.Keys.Schedules).Val() {
		var state struct {
			Versions map[string]map[string]float64 `json:"versions"`
			Timers   any                           `json:"timers"`
		}
		if err := json.Unmarshal([]byte(text), &state); err != nil {
			b.t.Fatal(err)
		}
		for _, v := range state.Versions {
			v["seen"] -= 2 * float64(time.Minute.Milliseconds())
		}
		aged, err := json.Marshal(state)
		if err != nil {
			b.t.Fatal(err)
		}
		b.client.HSet(b.t.Context(), b.s.Keys.Schedules, name, aged)
	}
}

// has compares the set and the paused timers.
func (b *schedulesBundle) has(set, paused []*report.Timer) {
	b.t.Helper()
	for key, want := range map[string][]*report.Timer{b.s.Keys.Timers: set, b.s.Keys.PausedTimers: paused} {
		got, names := b.client.ZRange(b.t.Context(), key, 0, -1).Val(), []string{}
		for _, w := range want {
			names = append(names, w.Key.String())
		}
		slices.Sort(got)
		slices.Sort(names)
		if !slices.Equal(got, names) {
			b.t.Errorf("%s has %v, not %v", key, got, names)
		}
	}
}

func list(all ...*report.Timer) []*report.Timer { return all }

func TestSchedulesAreSetAndRemoved(t *testing.T) {
	t.Parallel()
	b := newSchedulesBundle(t)
	mon, tue := b.timer(monday, "today-7d", report.MissedOnce), b.timer(tuesday, "today", report.MissedSkip)
	b.score("orders-1", 4e12) // of a service
	b.client.ZAdd(t.Context(), b.s.Keys.PausedTimers, redis.Z{Member: "orders-2", Score: 4e12})
	services := func(names ...string) (all []*report.Timer) {
		for _, n := range names {
			key, _ := report.ParsePattern(n)
			all = append(all, &report.Timer{Key: key})
		}
		return all
	}
	set, paused := services("orders-1"), services("orders-2")
	first := b.process(mon, tue)
	b.once(first)
	b.has(set, paused) // another process may have newer ones
	b.once(first, first)
	b.has(append(set, mon, tue), paused)
	for _, of := range list(mon, tue) {
		if at := time.UnixMilli(b.due(of.Key.String())); !at.Equal(of.Cron.Next(time.Now())) {
			t.Errorf("%v: %v", of.Cron, at)
		}
	}
	// A restart changes nothing, also of what is due or paused.
	if _, err := b.s.Timers.Pause(t.Context(), tue.Key.String()); err != nil {
		t.Fatal(err)
	}
	b.score(mon.Key.String(), 3e12)
	again := b.process(mon, tue)
	b.once(again, again)
	b.has(append(set, mon), append(paused, tue))
	if b.due(mon.Key.String()) != 3e12 {
		t.Error("the due time was lost")
	}
	// Other parameters: the time and the pause stay. Another time is another schedule.
	b.ends()
	mon2, tue2, wed := b.timer(monday, "today-8d", report.MissedOnce), b.timer(tuesday, "today", report.MissedOnce), b.timer("0 9 * * wed", "today", report.MissedOnce)
	edited := b.process(mon2, tue2, wed)
	b.once(edited, edited)
	b.has(append(set, mon2, wed), append(paused, tue2))
	if b.due(mon2.Key.String()) != 3e12 {
		t.Error("the due time was lost")
	}
	// What is gone from the file is removed, also while it is paused.
	b.ends()
	rest := b.process(wed)
	b.once(rest, rest)
	b.has(append(set, wed), paused)
	b.ends()
	none := b.process()
	b.once(none, none)
	b.has(set, paused)
	b.ends()
	b.once(rest)
	b.options.Reports = nil // the report is gone, too
	b.has(append(set, wed), paused)
	b.ends()
	gone := b.process()
	b.once(gone, gone)
	b.has(set, paused)
	if n := b.client.HLen(t.Context(), b.s.Keys.Schedules).Val(); n != 0 {
		t.Errorf("%d reports are left", n)
	}
}

// TestSchedulesWhileVersionsAreRolled: old and new processes run side by side, and old ones are restarted.
func TestSchedulesWhileVersionsAreRolled(t *testing.T) {
	t.Parallel()
	b := newSchedulesBundle(t)
	mon, tue, both := b.timer(monday, "today", report.MissedOnce), b.timer(tuesday, "today", report.MissedOnce), b.timer("0 9 1 * *", "today", report.MissedOnce)
	old, other := b.process(mon, both), b.process(mon, both)
	b.once(old, other, old, other)
	b.has(list(mon, both), nil)
	newer := b.process(tue, both)
	b.once(newer)
	for range 5 {
		b.once(old, newer, other)
		b.has(list(tue, both), nil)
	}
	restarted := b.process(mon, both)
	b.once(restarted, old, newer, restarted)
	b.has(list(tue, both), nil)
	// One without any schedule of the report is no exception.
	none := b.process()
	b.once(none)
	for range 3 {
		b.once(old, newer, none)
		b.has(nil, nil)
	}
	// All are silent for a while, as in an outage of Redis: nobody takes the time to be the last one.
	b.ends()
	for _, s := range []*schedules{old, newer, none} {
		s.last = s.last.Add(-2 * s.timeout)
		b.once(s)
		b.has(nil, nil)
	}
	b.once(old, newer, none)
	b.has(nil, nil)
	// The newest ones are taken back.
	b.ends()
	b.once(newer, old)
	b.has(list(tue, both), nil)
	b.ends()
	b.once(old)
	b.has(list(mon, both), nil)
	// A process without the report does not remove what others have.
	b.options.Reports = nil
	without := b.process()
	b.once(without, old, without)
	b.has(list(mon, both), nil)
}

// TestSchedulesAfterALossOfMemory: what was due meanwhile fires, and what a snapshot brings back is removed.
func TestSchedulesAfterALossOfMemory(t *testing.T) {
	t.Parallel()
	b := newSchedulesBundle(t)
	minute := b.timer("* * * * *", "today", report.MissedOnce)
	s := b.process(minute)
	b.once(s, s)
	b.client.Del(t.Context(), b.s.Keys.Timers, b.s.Keys.Schedules)
	s.passed = s.passed.Add(-10 * time.Minute)
	removed, paused := b.timer(tuesday, "today", report.MissedOnce), b.timer(monday, "today", report.MissedOnce)
	b.score(removed.Key.String(), 4e12)
	b.client.ZAdd(t.Context(), b.s.Keys.PausedTimers, redis.Z{Member: paused.Key.String(), Score: 4e12})
	missed := minute.Cron.Next(s.passed)
	b.once(s)
	if got := time.UnixMilli(b.due(minute.Key.String())); !got.Equal(missed) {
		t.Errorf("due %v, not %v", got, missed)
	}
	s.found = time.Time{}
	b.once(s)
	b.has(list(minute), nil)
	// A snapshot brings a pause back after the timer was set.
	b.client.ZAdd(t.Context(), b.s.Keys.PausedTimers, redis.Z{Member: minute.Key.String(), Score: 4e12})
	b.once(s)
	b.has(nil, list(minute))
}

// submitted are the parameters of the records that schedules have inserted, by timer.
type submitted struct {
	mu  sync.Mutex
	all map[string][]string
	ids map[string]string
}

func (s *submitted) Submit(_ context.Context, name string, due int64, report string, parameters []byte) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fmt.Sprint(name, " ", due)
	if s.ids[key] == "" {
		s.ids[key] = fmt.Sprint(len(s.ids) + 1)
		s.all[name] = append(s.all[name], report+" "+string(parameters))
	}
	return s.ids[key], nil
}

func (s *submitted) of(timer *report.Timer) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all[timer.Key.String()])
}

// TestSchedulesCatchUp: processes start together after the time of two schedules. One was missed and is made up
// for, once; the other waits for its next time. The parameters are those of the time of the firing, in the zone of
// the report.
func TestSchedulesCatchUp(t *testing.T) {
	t.Parallel()
	b := newSchedulesBundle(t)
	auckland, err := time.LoadLocation(b.of.TimeZone)
	if err != nil {
		t.Fatal(err)
	}
	once, skip := b.timer(monday, "today-1d", report.MissedOnce), b.timer(tuesday, "today", report.MissedSkip)
	records := &submitted{all: map[string][]string{}, ids: map[string]string{}}
	b.options.Submitter, b.options.Timers = records, list(once, skip)
	b.zadd(once.Key.String(), -3*time.Hour)
	b.zadd(skip.Key.String(), -3*time.Hour)
	days := []string{time.Now().In(auckland).AddDate(0, 0, -1).Format(time.DateOnly)}
	for i := range 3 {
		b.run(fmt.Sprint("c", i), false)
	}
	b.until("it was made up for", func() bool { return len(records.of(once)) > 0 })
	days = append(days, time.Now().In(auckland).AddDate(0, 0, -1).Format(time.DateOnly)) // midnight may have passed
	next := func(of *report.Timer) bool {
		return time.UnixMilli(b.due(of.Key.String())).Equal(of.Cron.Next(time.Now()))
	}
	b.until("both have their next time", func() bool { return next(once) && next(skip) })
	b.until("no entry is left", func() bool { return b.client.XLen(t.Context(), b.s.Keys.Fired).Val() == 0 })
	got := records.of(once)
	if len(got) != 1 || !slices.ContainsFunc(days, func(day string) bool { return got[0] == `orders {"from":"`+day+`"}` }) {
		t.Errorf("%v, not that of %v", got, days)
	}
	if got := records.of(skip); len(got) != 0 {
		t.Errorf("%v", got)
	}
	if pushed := b.client.XLen(t.Context(), b.s.Keys.Jobs).Val(); pushed != 1 {
		t.Errorf("%d ids", pushed)
	}
}

// TestSchedulesStart: processes that start together set a schedule, which fires once for each time.
func TestSchedulesStart(t *testing.T) {
	t.Parallel()
	b := newSchedulesBundle(t)
	second := &report.Timer{Name: "second", Every: report.Every{Exact: time.Second}, Missed: report.MissedOnce, MissedAfter: time.Minute, Retry: report.DefaultRetry}
	second.Scheduled(report.Schedule{Report: b.of, Parameters: json.RawMessage(`{"from":"today"}`)})
	records := &submitted{all: map[string][]string{}, ids: map[string]string{}}
	b.options.Submitter, b.options.Timers = records, list(second)
	for i := range 3 {
		b.run(fmt.Sprint("c", i), false)
	}
	b.until("it has fired", func() bool { return len(records.of(second)) >= 3 })
	fired := b.client.XRange(t.Context(), b.s.Keys.Events, "-", "+").Val()
	due := map[any]int{}
	for _, e := range fired {
		if e.Values["outcome"] == "fired" {
			due[e.Values["due"]]++
		}
	}
	for at := range maps.Keys(due) {
		if text, _ := at.(string); due[at] != 1 || !strings.HasSuffix(text, "000") {
			t.Errorf("%v fired %d times", at, due[at])
		}
	}
}

// TestScheduleRefused: the action of a schedule fails for good if its report refuses the computed value.
func TestScheduleRefused(t *testing.T) {
	t.Parallel()
	b := newSchedulesBundle(t)
	b.of.Parameters[0].Maximum = "2020-01-01"
	timer := b.timer(monday, "today", report.MissedOnce)
	b.options.Submitter, b.options.Timers = &submitted{all: map[string][]string{}, ids: map[string]string{}}, list(timer)
	b.zadd(timer.Key.String(), -time.Second)
	b.run("c1", false)
	b.until("it is quarantined", func() bool { return b.client.XLen(t.Context(), b.s.Keys.Quarantined).Val() == 1 })
	if e := b.client.XRange(t.Context(), b.s.Keys.Quarantined, "-", "+").Val(); !strings.Contains(fmt.Sprint(e), "above the maximum") {
		t.Errorf("%v", e)
	}
}
