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
	"github.com/fanfold/fanfold/scheduler/action"
	"github.com/google/go-cmp/cmp"
)

func TestLoadTimers(t *testing.T) {
	t.Parallel()
	config, err := Load("f.yaml", []byte(base+`timers:
  welcome:
    key: send_message-{user}-{type}
    append: {stream: messages, fields: {user: "{user}", type: "{type}"}}
  weekly:
    key: weekly-{day}
    every: 1w
    time_zone: Europe/Berlin
    missed: skip
    missed_after: 5m
    submit: {report: orders, parameters: {since: "{day}"}}
  notify:
    key: notify-{user}
    every: 36h
    call:
      url: http://127.0.0.1/{user}
      method: PUT
      headers: {Authorization: "Bearer ${USER_DB_PASSWORD}", Content-Type: application/json}
      body: '{"user":"{user}"}'
      timeout: 3s
    retry: {retries: 2, delay: 5s, backoff: exponential, max_delay: 1m}
  office:
    key: office
    cron: 0 9  * * Mon-Fri
    time_zone: Europe/Berlin
    append: {stream: messages}
  monthly:
    key: monthly
    every: 3mo
    append: {stream: messages}
`), testEnvironment(), TestKinds)
	if err != nil {
		t.Fatal(err)
	}
	pattern := func(text string) report.Pattern {
		p, err := report.ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Count(base, "\n")
	want := report.Timers{
		{
			Name: "welcome", Line: line + 2, Key: pattern("send_message-{user}-{type}"), Missed: report.MissedOnce, MissedAfter: time.Minute, Retry: report.DefaultRetry,
			Action: "append", Own: &action.AppendFields{Stream: "messages", Fields: map[string]report.Template{"user": report.NewTemplate("{user}"), "type": report.NewTemplate("{type}")}},
		},
		{
			Name: "monthly", Line: line + 27, Key: pattern("monthly"), Every: report.Every{Months: 3, Zone: time.UTC}, Missed: report.MissedOnce, MissedAfter: time.Minute, Retry: report.DefaultRetry,
			Action: "append", Own: &action.AppendFields{Stream: "messages"},
		},
		{
			Name: "notify", Line: line + 12, Key: pattern("notify-{user}"), Every: report.Every{Exact: 36 * time.Hour}, Missed: report.MissedOnce, MissedAfter: time.Minute,
			Retry:  report.Retry{Retries: 2, Delay: 5 * time.Second, Exponential: true, MaxDelay: time.Minute},
			Action: "call", Own: &action.CallFields{
				URL: report.NewTemplate("http://127.0.0.1/{user}"), Method: "PUT", Timeout: 3 * time.Second, Body: report.NewTemplate(`{"user":"{user}"}`),
				Headers: map[string]report.Template{"Authorization": report.NewTemplate("Bearer " + canary), "Content-Type": report.NewTemplate("application/json")},
			},
		},
		{
			Name: "weekly", Line: line + 5, Key: pattern("weekly-{day}"), Every: report.Every{Days: 7, Zone: berlin}, TimeZone: "Europe/Berlin", Missed: report.MissedSkip, MissedAfter: 5 * time.Minute, Retry: report.DefaultRetry,
			Action: "submit", Records: true, Own: &action.SubmitFields{Report: "orders", Parameters: map[string]report.Template{"since": report.NewTemplate("{day}")}},
		},
		{
			Name: "office", Line: line + 22, Key: pattern("office"), Cron: report.Cron{Expression: "0 9 * * Mon-Fri", Zone: berlin}, TimeZone: "Europe/Berlin", Missed: report.MissedOnce, MissedAfter: time.Minute, Retry: report.DefaultRetry,
			Action: "append", Own: &action.AppendFields{Stream: "messages"},
		},
	}
	zones := cmp.Comparer(func(a, b *time.Location) bool { return a == b || a != nil && b != nil && a.String() == b.String() })
	if diff := cmp.Diff(want, config.Timers, zones); diff != "" {
		t.Error(diff)
	}
}

// badTimers are in the place of the action, or of more, of a sound timer.
var badTimers = []string{
	"{}",
	"{key: 'a{x}{y}', append: {stream: s}}",
	"{key: 'a b', append: {stream: s}}",
	"{key: a, append: {stream: s}, call: {url: 'http://h/'}}",
	"{key: a, every: 1m30, append: {stream: s}}",
	"{key: a, every: 10ms, append: {stream: s}}",
	"{key: a, every: 0d, append: {stream: s}}",
	"{key: a, every: 1M, append: {stream: s}}",
	"{key: a, every: 121mo, append: {stream: s}}",
	"{key: a, every: 9999d, append: {stream: s}}",
	"{key: a, every: 1d, cron: '0 9 * * *', append: {stream: s}}",
	"{key: a, cron: '@daily', append: {stream: s}}",
	"{key: a, cron: '0 0 9 * * *', append: {stream: s}}",
	"{key: a, cron: '60 9 * * *', append: {stream: s}}",
	"{key: a, cron: '0 9,24 * * *', append: {stream: s}}",
	"{key: a, cron: '0 9 0 * *', append: {stream: s}}",
	"{key: a, cron: '0 9 * 13 *', append: {stream: s}}",
	"{key: a, cron: '0 9 * * mo-fr', append: {stream: s}}",
	"{key: a, cron: '0 9 31 feb *', append: {stream: s}}",
	"{key: a, cron: '0 9 29 2 */7', append: {stream: s}}",
	"{key: a, cron: */5 * * * *, append: {stream: s}}",
	"{key: a, cron: '0 9 * * 1-5', time_zone: Europe/Berlim, append: {stream: s}}",
	"{key: a, every: 1d, time_zone: Europe/Berlim, append: {stream: s}}",
	"{key: a, every: 1d, time_zone: Local, append: {stream: s}}",
	"{key: a, every: 24h, time_zone: Europe/Berlin, append: {stream: s}}",
	"{key: a, time_zone: Europe/Berlin, append: {stream: s}}",
	"{key: a, missed_after: 5m, append: {stream: s}}",
	"{key: a, call: {url: 'http://h/', headers: {host: x}}}",
	"{key: a, call: {url: 'http://h/', headers: {Trailer: x}}}",
	"{key: a, missed: skipp, append: {stream: s}}",
	"{key: a, append: {stream: 'fanfold:jobs'}}",
	"{key: a, append: {stream: 'a b'}}",
	"{key: 'a-{user}', append: {stream: s, fields: {u: '{usr}', due: x}}}",
	"{key: a, submit: {report: order}}",
	"{key: a, submit: {report: orders}}",
	"{key: a, submit: {report: orders, parameters: {since: x, until: y}}}",
	"{key: 'a-{x}', call: {url: 'http://{x}/'}}",
	"{key: 'a-{x}', call: {url: 'http://h:{x}/'}}",
	"{key: 'a-{x}', call: {url: 'ftp://h/{x}'}}",
	"{key: a, call: {url: 'http://h/${USER_DB_PASSWORD}#x'}}",
	"{key: a, call: {url: 'http://h/', method: GTE, body: x}}",
	"{key: a, call: {url: 'http://h/', method: GET, body: x}}",
	"{key: a, call: {url: 'http://h/', headers: {'a b': x, Idempotency-Key: y, x: \"${USER_DB_PASSWORD}\\n\"}}}",
	"{key: a, call: {url: 'http://h/'}, retry: {retries: -1, backoff: exp}}",
	"{key: 'a-{x}', append: {stream: s}}\n  other: {key: 'a-{y}-b', append: {stream: s}}",
	"{key: a, append: {stream: s}, evry: 1d}",
}

func TestTimerProblems(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	for _, bad := range badTimers {
		_, err := Load("f.yaml", []byte(base+"timers:\n  x: "+bad+"\n"), testEnvironment(), TestKinds)
		var problems decode.Problems
		if !errors.As(err, &problems) {
			t.Errorf("%s: no Problems but %v", bad, err)
			continue
		}
		fmt.Fprintf(&got, "== %s\n%v\n", bad, err)
	}
	if strings.Contains(got.String(), canary) || strings.Contains(got.String(), "w0rd") {
		t.Error("a message shows the password")
	}
	const golden = "testdata/timer_problems.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v (write it with: go test ./config -run TestTimerProblems -update)", err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
}

func TestLongestPrefixWins(t *testing.T) {
	t.Parallel()
	config, err := Load("f.yaml", []byte(base+`timers:
  all: {key: "m-{rest}", append: {stream: s}}
  one: {key: "m-one-{rest}", append: {stream: s}}
  exact: {key: "m-one-and", append: {stream: s}}
`), testEnvironment(), TestKinds)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"m-1": "all", "m-one-1": "one", "m-one-": "all", "m-one-and": "exact", "m-one-andy": "one"} {
		got, _, ok := config.Timers.Match(name)
		if !ok || got.Name != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if _, _, ok := config.Timers.Match("x"); ok {
		t.Error("x matches")
	}
}
