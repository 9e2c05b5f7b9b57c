package report

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"strings"
	"time"
)

// Schedule is what a timer of Fanfold's own does: it submits a report. The configuration has it at the report.
type Schedule struct {
	Report     *Report
	Parameters json.RawMessage // as a record passes them; relative dates are computed when it fires
}

// Resolve returns the parameters as JSON with relative dates computed for now. It sets no defaults. The errors are
// those of Report.Bind.
func (s *Schedule) Resolve(now time.Time) ([]byte, error) {
	values, err := s.Report.Bind(s.Parameters, now)
	if err != nil {
		return nil, err
	}
	given, err := ParameterFields(s.Parameters)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(values, func(name string, _ any) bool { return given[name] == nil })
	return EncodeBound(values), nil
}

// schedulePrefix begins the names of the timers of schedules. No timer with a key has such a name.
const schedulePrefix = "schedule:"

// IsSchedule reports whether a timer's name is that of a schedule.
func IsSchedule(name string) bool { return strings.HasPrefix(name, schedulePrefix) }

// WhyUndefined says that no definition matches a timer's name.
func WhyUndefined(name string) string {
	if IsSchedule(name) {
		return "no report in the configuration has this schedule"
	}
	return "no definition in timers matches this name"
}

// ScheduledReport returns the report in the name of a schedule's timer; empty if it is not such a name.
func ScheduledReport(name string) string {
	rest, ok := strings.CutPrefix(name, schedulePrefix)
	report, _, two := strings.Cut(rest, ":")
	if !ok || !two {
		return ""
	}
	return report
}

// Scheduled gives a timer that submits a report its name, which changes with everything that the schedule is:
// schedule:<report>:<times>-<rest>. The part <times> changes only with the times at which it fires.
func (t *Timer) Scheduled(s Schedule) {
	name := schedulePrefix + s.Report.Name + ":" + digest(t.Cron.Expression, t.Every.String(), t.TimeZone) + "-" +
		digest(string(s.Parameters), string(t.Missed))
	t.Key, _ = ParsePattern(name) // a report's name has no braces
	t.Schedule, t.Records = &s, true
}

// digest returns 6 hexadecimal digits of some texts.
func digest(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return hex.EncodeToString(sum[:3])
}

// Anchor is the time from which the periods of schedules count: a Monday, and the first day of a year.
func (e Every) Anchor() time.Time {
	zone := e.Zone
	if zone == nil {
		zone = time.UTC
	}
	return OnDay(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), zone)
}

// Schedules returns the timers of schedules, by report.
func (ts Timers) Schedules() map[string]Timers {
	all := map[string]Timers{}
	for _, t := range ts {
		if t.Schedule != nil {
			all[t.Schedule.Report.Name] = append(all[t.Schedule.Report.Name], t)
		}
	}
	return all
}
