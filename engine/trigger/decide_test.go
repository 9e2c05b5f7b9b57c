package trigger

import (
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
)

// TestDecideComputesDates: a job starts with the dates of the moment at which it is decided to start.
func TestDecideComputesDates(t *testing.T) {
	t.Parallel()
	known := &report.Report{Name: "r", TimeZone: "Europe/Berlin", Parameters: []report.Parameter{
		{Name: "day", Type: report.ParamDate, Default: new(`"today"`)}, {Name: "at", Type: report.ParamDatetime},
	}}
	p := &push{id: "1", report: known, record: &engine.Record{
		ID: "1", Report: "r", Parameters: []byte(`{"at": "now-6h"}`), Status: report.Pending,
	}}
	for now, want := range map[time.Time]string{
		time.Date(2024, 3, 31, 21, 59, 59, 0, time.UTC): `{"at":"2024-03-31T15:59:59Z","day":"2024-03-31"}`,
		time.Date(2024, 3, 31, 22, 0, 0, 0, time.UTC):   `{"at":"2024-03-31T16:00:00Z","day":"2024-04-01"}`,
	} {
		if d := decide(p, time.Minute, now); d.act != actStart || string(d.parameters) != want {
			t.Errorf("%v: %+v %s", now, d, d.parameters)
		}
	}
}

// TestDecide is the table "What a push means" without its servers: what is hard
// to bring about there is here.
func TestDecide(t *testing.T) {
	t.Parallel()
	known := &report.Report{Name: "r", Parameters: []report.Parameter{{Name: "n", Type: report.ParamInteger}}}
	record := func(status report.Status, attempt int64, age time.Duration) *engine.Record {
		return &engine.Record{ID: "1", Report: "r", Parameters: []byte(`{"n": 1}`), Status: status, Attempt: attempt, Age: age}
	}
	other := record(report.Pending, 0, 0)
	other.ID = "01"
	bad := record(report.Pending, 0, 0)
	bad.Parameters = []byte(`{"n": "x"}`)
	for _, c := range []struct {
		name string
		push push
		act  act
		why  string
	}{
		{"pending", push{record: record(report.Pending, 0, 0), report: known}, actStart, ""},
		{"pending again, with the state of an older attempt", push{record: record(report.Pending, 3, 0), attempt: 3, report: known}, actStart, ""},
		{"running", push{record: record(report.Processing, 2, time.Hour), attempt: 2, report: known}, actIgnore, "duplicate"},
		{"running, its report removed", push{record: record(report.Processing, 2, time.Hour), attempt: 2}, actIgnore, "duplicate"},
		{"state of an older attempt", push{record: record(report.Processing, 2, time.Hour), attempt: 1, report: known}, actStart, ""},
		{"between record and state", push{record: record(report.Processing, 2, time.Second), report: known}, actPollLater, "no state yet"},
		{"lost", push{record: record(report.Processing, 2, time.Minute), report: known}, actStart, ""},
		{"set to PROCESSING by hand after its end", push{record: record(report.Processing, 2, time.Minute), attempt: 2, ended: true, report: known}, actStart, ""},
		{"the same just now", push{record: record(report.Processing, 2, 0), attempt: 2, ended: true, report: known}, actPollLater, "no state yet"},
		{"set back behind an attempt that has ended", push{record: record(report.Processing, 1, time.Minute), attempt: 2, ended: true, report: known}, actStart, ""},
		{"success", push{record: record(report.Success, 2, 0), report: known}, actIgnore, "SUCCESS"},
		{"failed", push{record: record(report.Failed, 2, 0), report: known}, actIgnore, "FAILED"},
		{"cancelled", push{record: record(report.Cancelled, 2, 0), report: known}, actIgnore, "CANCELLED"},
		{"first look", push{}, actPollLater, "no such record"},
		{"third look", push{polls: 2}, actPollLater, "no such record"},
		{"last look", push{polls: 3}, actQuarantine, "no record"},
		{"another spelling", push{record: other, report: known}, actQuarantine, `"01"`},
		{"no report yet", push{record: record(report.Pending, 0, 0), polls: 2}, actPollLater, `"r" is not in`},
		{"no report", push{record: record(report.Pending, 0, 0), polls: 3}, actQuarantine, `"r" is not in`},
		{"a status of somebody else", push{record: record("WAITING", 0, 0), report: known}, actQuarantine, "WAITING"},
		{"a paused report", push{record: record(report.Pending, 0, 0), report: known, paused: true}, actPark, "is paused"},
		{"a paused report that this process does not know", push{record: record(report.Pending, 0, 0), paused: true}, actPark, "is paused"},
		{"a paused report, running", push{record: record(report.Processing, 2, time.Hour), attempt: 2, report: known, paused: true}, actIgnore, "duplicate"},
		{"a paused report, lost", push{record: record(report.Processing, 2, time.Minute), report: known, paused: true}, actPark, "is paused"},
		{"running, its state overwritten", push{record: record(report.Processing, 2, 0), broken: true, report: known}, actFail, "overwrote"},
		{"running, its state garbled and its report removed", push{record: record(report.Processing, 2, 0), garbled: true}, actFail, "overwrote"},
		{"pending, with a key of somebody else", push{record: record(report.Pending, 0, 0), broken: true, report: known}, actQuarantine, "not a hash"},
		{"pending, its old state garbled", push{record: record(report.Pending, 1, 0), garbled: true, report: known}, actStart, ""},
		{"bad parameters", push{record: bad, report: known}, actFail, "n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.push.id = "1"
			d := decide(&c.push, time.Minute, time.Now())
			if d.act != c.act || !strings.Contains(d.why, c.why) {
				t.Errorf("%+v", d)
			}
		})
	}
	for look, pause := range []time.Duration{time.Second, 5 * time.Second, 25 * time.Second} {
		if d := decide(&push{id: "1", polls: int64(look)}, time.Minute, time.Now()); d.pause != pause || d.member.Attempt != int64(look)+1 {
			t.Errorf("look %d: %+v", look, d)
		}
	}
}
