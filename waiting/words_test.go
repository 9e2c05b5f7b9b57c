package waiting

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/web/languages"
)

// english is the language of most tests.
var english = languages.Choose("en")

// because is a reason.
var because = reason{key: "left.again"}

// text returns all texts of a page.
func text(v view) string {
	all := append([]string{v.Title + ":"}, v.Says...)
	for _, p := range v.Parts {
		all = append(all, "["+p.Name+": "+p.Says+"]")
	}
	if v.Left != "" {
		all = append(all, "Left "+v.Left+".")
	}
	if r := v.Result; r != nil {
		all = append(all, r.Rows, r.Size, r.Checksum)
		if !r.Created.IsZero() {
			all = append(all, v.In.Time(r.Created))
		}
	}
	if v.Help {
		all = append(all, "(help)")
	}
	return strings.TrimSpace(strings.Join(append(all, v.Why), " "))
}

// TestWords has every state of a record.
func TestWords(t *testing.T) {
	t.Parallel()
	reports := map[string]*report.Report{"r": {Name: "r", Parameters: []report.Parameter{{Name: "year", Type: report.ParamInteger, Default: new("2024")}}, Stages: []report.Stage{
		{Listeners: []report.Listener{{Name: "plt_fund.vs_withdraw", Label: "Withdrawals"}, {Name: "user.some_tags"}}},
		{Listeners: []report.Listener{{Name: "last"}}},
	}}}
	later := now.Add(40 * time.Second)
	running := func(status string, change func(*facts), listeners ...inspect.Listener) facts {
		f := facts{Now: now, Job: inspect.Job{ID: "1", Report: "r", Status: report.Processing, Attempt: 1, Job: status, Stage: 1, Listeners: listeners}}
		if change != nil {
			change(&f)
		}
		return f
	}
	queued := func(p position, paused ...string) facts {
		return facts{Now: now, Position: p, Job: inspect.Job{ID: "1", Report: "r", Status: report.Pending, Paused: paused}}
	}
	ended := func(s report.Status, m *sink.Manifest) facts {
		return facts{Now: now, Manifest: m, Job: inspect.Job{ID: "1", Report: "r", Status: s, Error: "SELECT secret", File: "gs://secret/1.csv"}}
	}
	made := &sink.Manifest{Rows: 41_000, Bytes: 1_234_567, CRC32C: "0000beef", CreatedAt: time.Date(2024, 3, 4, 5, 6, 7, 0, time.FixedZone("", 3600)), Listeners: []sink.ManifestListener{
		{Name: "plt_fund.vs_withdraw"}, {Name: "user.some_tags", Omitted: "empty", Error: "SELECT secret"},
	}}
	older := &sink.Manifest{Rows: 7, CreatedAt: made.CreatedAt, Listeners: []sink.ManifestListener{
		{Name: "user.some_tags", Stale: true, Error: "SELECT secret", AsOf: time.Date(2024, 3, 4, 0, 0, 0, 0, time.FixedZone("", 3600))},
	}}
	empty := ended(report.Success, nil)
	empty.File, empty.Rows = "", new(int64)
	released := ended(report.Success, nil)
	released.File, released.Rows, released.Elsewhere = "", new(int64(41_000)), true
	for want, f := range map[string]facts{
		"No data: There is no data for this request, so there is no file.":                                       empty,
		text(unreadableFile.view(english)):                                                                       released,
		"Waiting to start: It has not started yet.":                                                              queued(position{}),
		"Waiting to start: It is the next one to start.":                                                         queued(position{Known: true, Exact: true}),
		"Waiting to start: One other report is ahead of it.":                                                     queued(position{Known: true, Exact: true, Before: 1}),
		"Waiting to start: 999 other reports are ahead of it.":                                                   queued(position{Known: true, Exact: true, Before: 999}),
		"Waiting to start: More than 1,000 other reports are ahead of it.":                                       queued(position{Known: true, Before: 1000}),
		"In progress: The same report is already being made. You get its file. It is about to start.":            {Now: now, Leader: &inspect.Job{ID: "7", Report: "r", Status: report.Processing}, Job: inspect.Job{ID: "1", Report: "r", Status: report.Pending}},
		"Scheduled: It starts in 40 s.":                                                                          queued(position{Due: later}),
		"Paused: Reports of this kind are paused at the moment. Yours starts automatically when the pause ends.": queued(position{}, "report/r"),
		"In progress: It is about to start.":                                                                     running("", nil),
		"Creating the file: All parts are ready. The file is being created.":                                     running(job.StatusFold, nil),
		"Creating the file: All parts are ready. The file is being created. That failed and is retried in 40 s.": running(job.StatusReady, func(f *facts) { f.FanIn = &inspect.Listener{Next: &later, Why: "secret"} }),
		"Almost there: The file is being stored.":                                                                running(job.StatusPublishing, nil),
		"Ending: It will end without a file.":                                                                    running(job.StatusFailing, func(f *facts) { f.Left = Left{now, later, because} }),
		"In progress: 1 of 3 parts are ready. [Withdrawals: 41,000 rows] [some tags: not ready yet] [last: starts after the others] Left about 40 s. It was started again.": running(
			job.StatusRun, func(f *facts) { f.Left = Left{later, later, because} },
			inspect.Listener{Name: "plt_fund.vs_withdraw", Stage: 1, State: "done", Rows: 41_000}, inspect.Listener{Name: "user.some_tags", Stage: 1, State: "running"}, inspect.Listener{Name: "last", Stage: 2, State: "waiting"}),
		"In progress: 1 of 3 parts are ready. [Withdrawals: did not answer; retried in 40 s] [some tags: left out: not available] [last: waits for another system]": running(
			job.StatusRun, nil,
			inspect.Listener{Name: "plt_fund.vs_withdraw", Stage: 1, State: "waiting", Next: &later, Why: "secret"}, inspect.Listener{Name: "user.some_tags", Stage: 1, State: "omitted", Why: "secret"},
			inspect.Listener{Name: "last", Stage: 1, State: "waiting", Next: &later, Waits: true, Why: "secret"}),
		"Paused: 0 of 2 parts are ready. A part that it needs is paused at the moment. It continues automatically when the pause ends. [Withdrawals: paused] [some tags: 7 rows so far]": running(
			job.StatusRun, func(f *facts) { f.Paused = []string{"listener/plt_fund.vs_withdraw"} },
			inspect.Listener{Name: "plt_fund.vs_withdraw", Stage: 1, State: "waiting"}, inspect.Listener{Name: "user.some_tags", Stage: 1, State: "running", Rows: 7}),
		"Cancelled: This report was cancelled. It will not be made.":                                                                   ended(report.Cancelled, nil),
		"No longer available: This report was deleted.":                                                                                ended(report.Deleted, nil),
		"This report could not be made: Something went wrong on our side. Support can find the cause and run the report again. (help)": ended(report.Failed, nil),
		"This report cannot be made as requested: It was requested with a value that cannot be used. The value of year cannot be used. Give a whole number. Request the report again with a valid value. (help)": {
			Job: inspect.Job{ID: "1", Report: "r", Status: report.Failed, Error: "SELECT secret", Parameters: []byte(`{"year": "secret"}`)},
		},
		"Ready: 41,000 1.2 MB 0000beef 4 March 2024, 04:06 UTC": ended(report.Success, made),
		"Ready:": ended(report.Success, nil),
		"Ready, but not complete: Some data was not available: the file was created without it, or with older data.    (help)":                                                    ended(report.Partial, nil),
		"Ready, but not complete: The file was created without: some tags. Their columns are empty, or have a fixed value. 41,000 1.2 MB 0000beef 4 March 2024, 04:06 UTC (help)": ended(report.Partial, made),
		"Ready, but not complete: The file has older data: some tags (of 3 March 2024, 23:00 UTC). 7 0 bytes  4 March 2024, 04:06 UTC (help)":                                     ended(report.Partial, older),
	} {
		got := text(describe(english, f, reports))
		if got != want {
			t.Errorf("%q\nnot\n%q", got, want)
		}
		for _, code := range languages.Codes() {
			in := languages.Choose(code)
			if got := text(describe(in, f, reports)); strings.ContainsAny(got, "{}") || code != "en" && got == want && want != "Ready:" {
				t.Errorf("%s: %q", code, got)
			}
		}
		if strings.Contains(got, "secret") || strings.Contains(got, "SELECT") {
			t.Errorf("%q reveals an error or a location", got)
		}
	}
	divided := inspect.Listener{Name: "user.some_tags", Stage: 1, State: "running", Rows: 9, Parts: 8, Read: 2}
	done := inspect.Listener{Name: "plt_fund.vs_withdraw", Stage: 1, State: "done", Rows: 41_000}
	for want, listeners := range map[int][]inspect.Listener{
		0: {{Name: "last", Stage: 1}}, 50: {done, {Name: "last", Stage: 1}}, 62: {done, divided}, 12: {divided, {Name: "last", Stage: 2}},
	} {
		v := describe(english, running(job.StatusRun, nil, listeners...), reports)
		if v.Share != want || strings.Contains(text(v), "9 rows") || slices.Contains(listeners[0:1], divided) && !strings.Contains(text(v), "[some tags: 2 of 8 sections read]") {
			t.Errorf("%d%%: %s", v.Share, text(v))
		}
	}
	if v := describe(english, running(job.StatusFold, nil, done), reports); v.Share != 0 {
		t.Errorf("all parts are read, and the file is not made: %d%%", v.Share)
	}
	for status, want := range map[string]bool{"": true, job.StatusRun: true, job.StatusFold: true, job.StatusPublishing: false, job.StatusFailing: false} {
		if got := cancellable(running(status, nil)); got != want {
			t.Errorf("%q can be cancelled: %v", status, got)
		}
	}
	if !cancellable(queued(position{})) || cancellable(ended(report.Success, made)) {
		t.Error("what waits can be cancelled, and what has ended cannot")
	}
	if got := describe(english, ended("unmapped x", nil), nil); got.Class != "bad" || !got.Ended {
		t.Errorf("%+v", got)
	}
}
