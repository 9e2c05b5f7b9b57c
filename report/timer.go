package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// Timer defines what happens when a timer fires whose name matches Key.
type Timer struct {
	Name string `key:"timer"` // of the definition
	Line int    // in the configuration file
	// Pattern of the timers' names. Each `{name}` takes at least one character; the last one may take `-`, the
	// others not. If two definitions match, the one with the longer text before its first `{` wins; two with the
	// same text are an error
	Key Pattern `yaml:"key" open:"" need:"Write the pattern of its names, such as send_message-{user}-{type}"`
	// Period after which it fires again: exact hours and minutes (`24h`, `90m`), or calendar days, weeks and
	// months (`1d`, `2w`, `1mo`)
	Every Every `yaml:"every" unset:"once"`
	// Instead of `every`: when it fires again, as minute, hour, day of month, month and day of week, such as
	// `0 9 * * mon-fri`
	Cron Cron `yaml:"cron"`
	// Zone of calendar days and of `cron`. The time of day stays the same over daylight saving time: a skipped
	// time moves forward, and of a repeated time the first counts
	TimeZone string `yaml:"time_zone" form:"zone" unset:"UTC"` // as written: see Every.Zone and Cron.Zone
	// What happens to a timer that no process fired within `missed_after`: `once` fires it once, however many of
	// its times have passed; `skip` does not fire it
	Missed Missed `yaml:"missed" enum:"once,skip" default:"once"`
	// Delay after which a timer counts as missed. Only with `missed: skip`
	MissedAfter time.Duration `yaml:"missed_after" with:"missed=skip" default:"1m"`
	// Retries of the action. A process runs 32 actions at once; those that wait for a retry do not count
	Retry Retry `yaml:"retry"`

	Action  string // kind of its action
	Own     any    `choice:"action"` // pointer to the own fields of its action
	Records bool   // its action inserts records

	Schedule *Schedule // a report that it submits instead of an action; nil if services set it
}

// Repeats reports whether it fires more than once.
func (t *Timer) Repeats() bool { return !t.Every.None() || !t.Cron.None() }

// Every is the period of a timer. At most one of its periods is set.
type Every struct {
	Exact  time.Duration  // a fixed time
	Days   int            // calendar days in Zone, at the same time of day
	Months int            // calendar months in Zone, on the same day, or the last day of a shorter month
	Zone   *time.Location // nil means UTC
}

var calendarForm = regexp.MustCompile(`^([1-9][0-9]{0,3})(d|w|mo)$`)

// ParseEvery reads a period such as 24h, 1d, 1w or 1mo. Its Zone is UTC. The mistake is nil if
// there is none.
func ParseEvery(text string) (e Every, wrong *Mistake) {
	const form = "Write exact hours such as 24h, or days, weeks or months in time_zone: 1d, 1w, 1mo"
	const years = 10
	if m := calendarForm.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1]) // four digits at most
		switch e.Zone = time.UTC; m[2] {
		case "d":
			e.Days = n
		case "w":
			e.Days = 7 * n
		case "mo":
			e.Months = n
		}
	} else if d, err := time.ParseDuration(text); err == nil {
		e.Exact = d
	} else {
		return Every{}, &Mistake{Message: "not a period", Remedy: form}
	}
	if e.Calendar() && e.Days <= years*365 && e.Months <= years*12 {
		return e, nil
	} else if !e.Calendar() && e.Exact >= time.Second && e.Exact <= years*366*24*time.Hour &&
		e.Exact%time.Millisecond == 0 {
		return e, nil
	}
	return Every{}, &Mistake{Message: "not a period from 1s to ten years", Remedy: form}
}

// None reports whether the timer does not repeat.
func (e Every) None() bool { return e.Exact == 0 && !e.Calendar() }

// Calendar reports whether the period is a number of calendar days or months.
func (e Every) Calendar() bool { return e.Days > 0 || e.Months > 0 }

// String returns the period as in the configuration.
func (e Every) String() string {
	switch {
	case e.None():
		return ""
	case e.Months > 0:
		return fmt.Sprintf("%dmo", e.Months)
	case e.Days > 0 && e.Days%7 == 0:
		return fmt.Sprintf("%dw", e.Days/7)
	case e.Days > 0:
		return fmt.Sprintf("%dd", e.Days)
	}
	return ShortDuration(e.Exact)
}

// Missed is what happens to a timer that could not fire at its time.
type Missed string

// The policies for missed timers.
const (
	MissedOnce Missed = "once" // it fires once, however many of its times have passed
	MissedSkip Missed = "skip" // it does not fire; a repeating timer fires again at its next time
)

// Timers are the definitions of timers, those with the longest prefix first.
type Timers []*Timer

// Match returns the definition for a timer's name and the values in the name. If
// several match, it returns the one with the longest prefix. Only a schedule has the name of one.
func (ts Timers) Match(name string) (t *Timer, values map[string]string, ok bool) {
	for _, t := range ts {
		if values, ok := t.Key.Match(name); ok && (t.Schedule != nil) == IsSchedule(name) {
			return t, values, true
		}
	}
	return nil, nil, false
}

// Sorted sorts the timers in place, those with the longest prefix first, and returns them.
func (ts Timers) Sorted() Timers {
	slices.SortStableFunc(ts, func(a, b *Timer) int {
		return cmp.Or(cmp.Compare(len(b.Key.Prefix()), len(a.Key.Prefix())), cmp.Compare(a.Name, b.Name))
	})
	return ts
}

// InsertRecords reports whether the action of a timer inserts records.
func (ts Timers) InsertRecords() bool {
	return slices.ContainsFunc(ts, func(t *Timer) bool { return t.Records })
}
