package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// missedSchedule is the delay after which a time of a schedule counts as missed.
const missedSchedule = time.Minute

// scheduling checks the schedules of a report.
type scheduling struct{ *draft }

// check adds a timer for every schedule of the report.
func (d scheduling) check() {
	for i := range d.f.Schedule {
		f := &d.f.Schedule[i]
		s := d.Of(f)
		if !s.Readable() {
			continue
		}
		t := &report.Timer{
			Name: fmt.Sprintf("reports.%s.schedule[%d]", d.Name, i), Line: s.Line, Cron: f.Cron, Every: f.Every,
			TimeZone: f.TimeZone, Missed: f.CatchUp, MissedAfter: missedSchedule, Retry: report.DefaultRetry,
		}
		if !s.Get("cron").Given() && !s.Get("every").Given() {
			s.Problem("no time", `Add cron, such as cron: "0 9 * * mon", or every: 1d`)
		}
		if t.TimeZone == "" && (!t.Cron.None() || t.Every.Calendar()) {
			t.TimeZone = d.TimeZone
		}
		checkTimes(s, t)
		t.Scheduled(report.Schedule{Report: d.Report, Parameters: d.parameters(s)})
		at := slices.IndexFunc(d.config.Timers, func(other *report.Timer) bool { return other.Key.Equal(t.Key) })
		if at >= 0 && !s.Wrong() {
			s.Problem(fmt.Sprintf("the same as the schedule in line %d", d.config.Timers[at].Line),
				"Remove one of them")
			continue
		}
		d.config.Timers = append(d.config.Timers, t)
	}
}

// parameters returns the parameters that a schedule passes, as JSON, and records what the report refuses.
func (d scheduling) parameters(s decode.Section) json.RawMessage {
	at := s.Get("parameters")
	given := map[string]json.RawMessage{}
	var entries []decode.Entry
	if readable := true; at.Given() {
		if entries, readable = at.Entries(); !readable {
			return nil
		}
	}
	for _, e := range entries {
		i := slices.IndexFunc(d.Parameters, func(p report.Parameter) bool { return p.Name == e.Name })
		if i < 0 {
			e.Key.Problem(fmt.Sprintf("report %s has no such parameter", d.Name),
				"The report has "+d.ParameterList())
			continue
		}
		given[e.Name] = nil
		if p := &d.Parameters[i]; !d.Of(p).Wrong() {
			given[e.Name] = scheduledValue(e.Value, *p, d.TimeZone)
		}
	}
	for i := range d.Parameters {
		p := &d.Parameters[i]
		if _, ok := given[p.Name]; !ok && !d.Of(p).Raw("default").Given() && !d.Of(p).Wrong() {
			at.Problem(fmt.Sprintf("parameter %s is missing", p.Name), "Add "+p.Name+", or give it a default")
		}
	}
	return report.EncodeBound(given)
}

// scheduledValue returns the JSON of a parameter's value, and records the problem if the parameter refuses it.
func scheduledValue(at decode.Setting, p report.Parameter, zone string) json.RawMessage {
	raw, ok := json.RawMessage("null"), true
	if !at.IsNull() {
		raw, ok = parameterJSON(at, p)
	}
	if !ok {
		return nil
	}
	value, wrong := p.Bind(raw, zone)
	if wrong == nil && len(p.Options) > 0 && hasRelative(value) {
		wrong = relativeOption(p)
	}
	if wrong != nil {
		at.Problem(wrong.Message, wrong.Remedy)
		return nil
	}
	return raw
}
