package config

import (
	"fmt"
	"time"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/report"
)

// checkTimer validates a timer. It needs the reports, and the timers before it.
func (k *checker) checkTimer(i int) {
	t := &k.f.Timers[i]
	s := k.Of(t)
	t.Line = s.Line
	if !s.Readable() {
		return
	}
	for n := range i {
		other := &k.f.Timers[n]
		if s.Has("key") && k.Of(other).Has("key") && other.Key.Prefix() == t.Key.Prefix() {
			s.Problem(fmt.Sprintf("the text before the first {name} is the same as in %s %s: %q", other.Name,
				s.PlaceOf(k.Of(other).Setting), t.Key.Prefix()),
				"Begin every key with a different text")
		}
	}
	if s.Has("key") && report.IsSchedule(t.Key.Prefix()) {
		s.Get("key").Problem("names that begin like this belong to the schedules of reports",
			"Begin the key with a different text")
	}
	checkTimes(s, t)
	if after := s.Get("missed_after"); after.Given() && t.Missed == report.MissedOnce {
		after.Problem("has no effect without missed: skip", "Write missed: skip, or remove missed_after")
	}
	k.inherit(&t.Retry, report.DefaultRetry)
	k.checkAction(s, t)
}

// checkTimes validates when a timer fires again, in its zone.
func checkTimes(s decode.Section, t *report.Timer) {
	if every, cron := s.Get("every"), s.Get("cron"); every.Given() && cron.Given() {
		cron.Problem("both every and cron are set", "Keep one of them")
	}
	switch zone, _ := time.LoadLocation(t.TimeZone); { // its form was checked
	case s.Wrong("every", "cron", "time_zone") || t.TimeZone == "":
	case !t.Cron.None():
		t.Cron.Zone = zone
	case t.Every.Calendar():
		t.Every.Zone = zone
	case s.Get("time_zone").Given():
		s.Get("time_zone").Problem("time_zone has no effect on a timer that does not repeat by the calendar",
			"Write every: 1d, 1w or 1mo, or cron, or remove time_zone")
	}
}

// checkAction requires one action, and asks its kind about the rest.
func (k *checker) checkAction(s decode.Section, t *report.Timer) {
	var names, forms []string
	for _, a := range k.kinds.Actions {
		names, forms = append(names, a.Name), append(forms, a.Form)
	}
	actions := s.Present(names...)
	if len(actions) == 0 {
		s.Problem("no action", "Add "+anyOf(forms))
		return
	}
	if len(actions) > 1 {
		s.Get(actions[1]).Problem(fmt.Sprintf("both %s and %s are set", actions[0], actions[1]),
			"Keep one of them: a timer has one action")
	}
	for _, a := range k.kinds.Actions {
		if a.Name == actions[0] {
			t.Action, t.Records = a.Name, a.Records
			a.Check(&kind.Timer{Timer: t, Section: k.Of(t.Own), Reader: k.Reader, KeyValid: s.Has("key"),
				Keys: k.config.Keys, Reports: k.config.Reports})
		}
	}
}
