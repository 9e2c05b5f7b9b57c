package config

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
	"github.com/google/go-cmp/cmp"
)

// scheduledBase is a file in which %s is the schedule of a report.
const scheduledBase = `redis: redis://127.0.0.1:6379/0
databases:
  main: {dsn: "app@tcp(db:3306)/app"}
records: {database: main}
sink: gs://reports/exports
reports:
  orders:
    time_zone: Europe/Berlin
    parameters:
      from: date
      tag: {type: string, options: [vip, new], default: null}
      ids: {type: integer, list: true, default: [1], minimum: 1}
      day: {type: date, options: ["2024-01-01"], default: null}
    listeners:
      l: {database: main, query: "SELECT id FROM t WHERE a > :from AND tag = :tag AND id IN (:ids) AND d = :day"}
    schedule: %s
%s`

func schedulesOf(t *testing.T, schedule string) report.Timers {
	t.Helper()
	config, err := Load("f.yaml", fmt.Appendf(nil, scheduledBase, schedule, ""), testEnvironment(), TestKinds)
	if err != nil {
		t.Fatal(err)
	}
	return config.Timers
}

func TestLoadSchedules(t *testing.T) {
	t.Parallel()
	timers := schedulesOf(t, `
      - cron: 0 9  * * mon
        parameters: {from: today-7d, tag: vip, ids: [4, 5]}
        catch_up: skip
      - {every: 1d, time_zone: UTC, parameters: {from: 2024-02-29}}
      - {every: 6h, parameters: {from: today}}`)
	var got []string
	for _, of := range timers {
		zone := of.Cron.Zone
		if of.Cron.None() {
			zone = of.Every.Zone
		}
		if of.Schedule.Report.Name != "orders" || !of.Records || of.Retry != report.DefaultRetry || of.MissedAfter != time.Minute ||
			!strings.HasPrefix(of.Key.String(), "schedule:orders:") || report.ScheduledReport(of.Key.String()) != "orders" {
			t.Errorf("%+v", of)
		}
		got = append(got, fmt.Sprint(of.Name, " line ", of.Line, " ", of.Cron.String()+of.Every.String(), " ", zone, " ", of.Missed, " ", string(of.Schedule.Parameters)))
	}
	want := []string{
		`reports.orders.schedule[0] line 17 0 9 * * mon Europe/Berlin skip {"from":"today-7d","ids":["4","5"],"tag":"vip"}`,
		`reports.orders.schedule[1] line 20 1d UTC once {"from":"2024-02-29"}`,
		`reports.orders.schedule[2] line 21 6h UTC once {"from":"today"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestScheduleNames: everything that a schedule is changes its name; the first half changes with its times alone.
func TestScheduleNames(t *testing.T) {
	t.Parallel()
	name := func(schedule string) (times, rest string) {
		times, rest, _ = strings.Cut(schedulesOf(t, "["+schedule+"]")[0].Key.String(), "-")
		return times, rest
	}
	times, rest := name("{cron: 0 9 * * mon, parameters: {from: today}}")
	for other, change := range map[string][2]bool{
		"{cron: 0  9 * * mon, parameters: {from: today}, time_zone: Europe/Berlin}": {false, false},
		"{cron: 0 9 * * tue, parameters: {from: today}}":                            {true, false},
		"{every: 1w, parameters: {from: today}}":                                    {true, false},
		"{cron: 0 9 * * mon, parameters: {from: today}, time_zone: UTC}":            {true, false},
		"{cron: 0 9 * * mon, parameters: {from: today-1d}}":                         {false, true},
		"{cron: 0 9 * * mon, parameters: {from: today}, catch_up: skip}":            {false, true},
	} {
		if t1, r1 := name(other); t1 != times != change[0] || r1 != rest != change[1] {
			t.Errorf("%s: %s-%s, not %s-%s", other, t1, r1, times, rest)
		}
	}
}

// badSchedules are each the schedule of a report, with other fields of the file after it.
var badSchedules = [][2]string{
	{"[]"},
	{"{cron: 0 9 * * mon, parameters: {from: today}}"},
	{"[{parameters: {from: today}}]"},
	{"[{cron: 0 9 * * mon, every: 1d, parameters: {from: today}}]"},
	{"[{cron: 0 25 * * mon, parameters: {from: today}}]"},
	{"[{every: 1h, time_zone: UTC, parameters: {from: today}}]"},
	{"[{every: 1d, time_zone: Berlin, parameters: {from: today}}]"},
	{"[{every: 1d, catch_up: all, parameters: {from: today}}]"},
	{"[{every: 1d}]"},
	{"[{every: 1d, parameters: today}]"},
	{"[{every: 1d, parameters: {from: yesterday}}]"},
	{"[{every: 1d, parameters: {from: null}}]"},
	{"[{every: 1d, parameters: {from: [today]}}]"},
	{"[{every: 1d, parameters: {from: today, tag: old}}]"},
	{"[{every: 1d, parameters: {from: today, tags: vip}}]"},
	{"[{every: 1d, parameters: {from: today, ids: 7}}]"},
	{"[{every: 1d, parameters: {from: today, ids: [0, x]}}]"},
	{"[{every: 1d, parameters: {from: today, day: today}}]"},
	{"[{every: 1d, parameters: {from: today}}, {every: 1d, time_zone: Europe/Berlin, parameters: {from: today}}]"},
	{"[{every: 1d, parameters: {from: today}}]", "timers: {x: {key: 'schedule:{report}', append: {stream: s}}}"},
	{"[{every: 1d, parameter: {from: today}}]"},
}

// TestScheduleOfABadDefault: a default that is wrong is one problem, not also a parameter that the schedule lacks.
func TestScheduleOfABadDefault(t *testing.T) {
	t.Parallel()
	text := strings.Replace(fmt.Sprintf(scheduledBase, "[{every: 1d}]", ""), "from: date", "from: {type: date, default: soon}", 1)
	_, err := Load("f.yaml", []byte(text), testEnvironment(), TestKinds)
	if err == nil || !strings.Contains(err.Error(), "from.default: not a date") || strings.Contains(err.Error(), "schedule") {
		t.Errorf("got %v", err)
	}
}

func TestScheduleProblems(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	for _, bad := range badSchedules {
		_, err := Load("f.yaml", fmt.Appendf(nil, scheduledBase, bad[0], bad[1]), testEnvironment(), TestKinds)
		var problems decode.Problems
		if !errors.As(err, &problems) {
			t.Errorf("%s: no Problems but %v", bad, err)
			continue
		}
		fmt.Fprintf(&got, "== %s\n%v\n", strings.TrimSpace(bad[0]+" "+bad[1]), err)
	}
	const golden = "testdata/schedule_problems.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v (write it with: go test ./config -run TestScheduleProblems -update)", err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
}

// TestOneMistakeOneMessage: what uses a parameter that has a mistake does not repeat the mistake.
func TestOneMistakeOneMessage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ parameter, value string }{
		"a default of another type":   {"{type: integer, default: x}", "5"},
		"a default beyond the limits": {"{type: integer, minimum: 1, default: 0}", "5"},
		"a default of an option":      {"{options: [a, b], default: c}", "a"},
		"a default that is no list":   {"{type: integer, list: true, default: 1}", "[5]"},
		"a default that is a list":    {"{type: integer, default: [1]}", "5"},
		"a type":                      {"{type: int, default: 5}", "5"},
		"a list that is no boolean":   {"{type: integer, list: maybe, default: 5}", "5"},
		"limits that exclude all":     {"{type: integer, minimum: 7, maximum: 4, default: 5}", "5"},
		"a limit of another type":     {"{type: integer, minimum: x, default: 5}", "5"},
		"options of another type":     {"{type: integer, options: [a], default: 5}", "5"},
		"a limit of no such type":     {"{type: integer, pattern: '[a-z]', default: 5}", "5"},
	} {
		for _, given := range []string{"{}", "{n: " + c.value + "}"} {
			schedule := fmt.Sprintf("\n      - {every: 1d, parameters: %s}", given)
			text := fmt.Sprintf(scheduledBase, schedule, "timers: {t: {key: 'a-{b}', submit: {report: orders}}}")
			text = strings.NewReplacer("from: date", "n: "+c.parameter, "a > :from", "a IN (:n)").Replace(text)
			_, err := Load("f.yaml", []byte(text), testEnvironment(), TestKinds)
			if problems, _ := errors.AsType[decode.Problems](err); len(problems) != 1 || problems[0].Line != 10 {
				t.Errorf("%s, given %s: want one problem in line 10:\n%v", name, given, err)
			}
		}
	}
}
