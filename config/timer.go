package config

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/report"
)

var (
	timerName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)
	days      = regexp.MustCompile(`^([1-9][0-9]{0,3})([dw])$`)
)

const everyForm = "Write exact hours such as 24h, or calendar days in time_zone: 1d, 1w"

// draftTimer is a timer that is being read.
type draftTimer struct {
	*report.Timer
	config *Config
	sound  bool // its pattern is known, so the names in braces can be checked
}

// timers decodes the definitions of timers; the reports must be known.
func (p setting) timers(config *Config) report.Timers {
	entries, _ := p.entries()
	var found report.Timers
	for _, e := range entries {
		if !timerName.MatchString(e.name) {
			e.value.problem("a timer's name that is not allowed", "Use up to 64 of a-z, 0-9, _ and -, and begin with a letter or digit")
		}
		t := e.value.timer(e.name, config)
		for _, other := range found {
			if t.sound && other.Key.String() != "" && other.Key.Prefix() == t.Key.Prefix() {
				e.value.problem(fmt.Sprintf("the same text before the first {name} as %s in line %d: %q", other.Name, other.Line, t.Key.Prefix()),
					"Begin the names of each with a text of their own")
			}
		}
		found = append(found, t.Timer)
	}
	return found.Sorted()
}

func (p setting) timer(name string, config *Config) *draftTimer {
	t := &draftTimer{Timer: &report.Timer{Name: name, Line: p.line, Missed: report.MissedOnce}, config: config}
	f := p.fields("key", "every", "time_zone", "missed", "missed_after", "retry", "submit", "append", "call")
	if f.broken {
		return t
	}
	if at, ok := f.need("key", "Write the form of its names, such as send_message-{user}-{type}"); ok {
		t.readKey(at)
	}
	t.Every = f.get("every").every()
	if zone := f.get("time_zone").timeZone(); t.Every.Days > 0 {
		t.Every.Zone = zone
	} else if every := f.get("every"); f.get("time_zone").given() && (!every.given() || t.Every.Exact > 0) {
		f.get("time_zone").problem("a time zone of a timer that does not repeat in calendar days", "Write every: 1d or 1w, or remove time_zone")
	}
	t.readMissed(f.get("missed"))
	if after := f.get("missed_after"); after.given() && t.Missed == report.MissedOnce {
		after.problem("nothing without missed: skip", "Write missed: skip, or remove missed_after")
	}
	t.MissedAfter = f.get("missed_after").duration(time.Minute)
	t.Retry = f.get("retry").retry(report.DefaultRetry)
	t.readAction(f)
	return t
}

func (t *draftTimer) readKey(at setting) {
	text, ok := at.text()
	if !ok {
		return
	}
	pattern, err := report.ParsePattern(text)
	if err != nil {
		at.problem("not a form of names: "+err.Error(), "Write something like send_message-{user}-{type}")
		return
	}
	t.Key, t.sound = pattern, true
}

func (t *draftTimer) readMissed(at setting) {
	if !at.given() {
		return
	}
	text, ok := at.text()
	if ok && text != string(report.MissedOnce) && text != string(report.MissedSkip) {
		at.problem("no such answer to a missed timer", didYouMean(text, []string{string(report.MissedOnce), string(report.MissedSkip)}))
		return
	}
	t.Missed = report.Missed(text)
}

// every decodes 24h, 1d or 1w. In a gap it is none.
func (p setting) every() report.Every {
	if !p.given() {
		return report.Every{}
	}
	text, ok := p.text()
	if !ok {
		return report.Every{}
	}
	if m := days.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1]) // four digits at most
		if m[2] == "w" {
			n *= 7
		}
		return report.Every{Days: n, Zone: time.UTC}
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		p.problem("not a period", everyForm)
	case d < time.Second || d > 10*366*24*time.Hour || d%time.Millisecond != 0:
		p.problem("not a period of 1s to ten years", everyForm)
	default:
		return report.Every{Exact: d}
	}
	return report.Every{}
}

func (p setting) timeZone() *time.Location {
	if !p.given() {
		return time.UTC
	}
	text, ok := p.text()
	if !ok {
		return time.UTC
	}
	// Local is another one on each machine.
	zone, err := time.LoadLocation(text)
	if err != nil || text == "Local" || text == "" {
		p.problem("no such time zone", "Write one of the tz database, such as Europe/Berlin or UTC")
		return time.UTC
	}
	return zone
}

// template decodes a text with {name}, each of which the pattern must have.
func (t *draftTimer) template(at setting) (report.Template, bool) {
	text, ok := at.text()
	if !ok {
		return report.Template{}, false
	}
	template := report.NewTemplate(text)
	for _, name := range template.Names() {
		if t.sound && !contains(t.Key.Names(), name) {
			at.problem(fmt.Sprintf("unknown name {%s}: key has no such part", report.Shorten(name)), didYouMean(name, t.Key.Names()))
			ok = false
		}
	}
	return template, ok
}

// templates decodes a mapping of texts.
func (t *draftTimer) templates(at setting) map[string]report.Template {
	entries, _ := at.entries()
	if len(entries) == 0 {
		return nil
	}
	found := map[string]report.Template{}
	for _, e := range entries {
		found[e.name], _ = t.template(e.value)
	}
	return found
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}
