package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// Timer says what happens when a timer fires whose name its pattern matches.
type Timer struct {
	Name        string // of the definition
	Line        int    // in the configuration file
	Key         Pattern
	Every       Every         // the zero value: once
	Missed      Missed        // default MissedOnce
	MissedAfter time.Duration // how late a timer is that counts as missed
	Retry       Retry
	// What is done: exactly one of them is there.
	Submit *Submit
	Append *Append
	Call   *Call
}

// Every says when a timer fires again.
type Every struct {
	Exact time.Duration  // always this long
	Days  int            // or so many calendar days in Zone, at the same time of day
	Zone  *time.Location // nil: UTC
}

var dayForm = regexp.MustCompile(`^([1-9][0-9]{0,3})([dw])$`)

// ParseEvery reads a period such as 24h, 1d or 1w; calendar days are in UTC. The mistake
// is nil if there is none.
func ParseEvery(text string) (Every, *Mistake) {
	const form = "Write exact hours such as 24h, or calendar days in time_zone: 1d, 1w"
	if m := dayForm.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1]) // four digits at most
		if m[2] == "w" {
			n *= 7
		}
		return Every{Days: n, Zone: time.UTC}, nil
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return Every{}, &Mistake{Message: "not a period", Remedy: form}
	case d < time.Second || d > 10*366*24*time.Hour || d%time.Millisecond != 0:
		return Every{}, &Mistake{Message: "not a period of 1s to ten years", Remedy: form}
	}
	return Every{Exact: d}, nil
}

// None tells whether the timer does not repeat.
func (e Every) None() bool { return e.Exact == 0 && e.Days == 0 }

// String gives the period as it is written in the configuration.
func (e Every) String() string {
	switch {
	case e.None():
		return ""
	case e.Days > 0 && e.Days%7 == 0:
		return fmt.Sprintf("%dw", e.Days/7)
	case e.Days > 0:
		return fmt.Sprintf("%dd", e.Days)
	}
	return ShortDuration(e.Exact)
}

// Missed says what happens to a timer that could not fire at its time.
type Missed string

// The answers to a timer that was missed.
const (
	MissedOnce Missed = "once" // it fires once, however many of its times have passed
	MissedSkip Missed = "skip" // it does not fire; one that repeats goes on at its next time
)

// Submit inserts a record and pushes its id.
type Submit struct {
	Report     string
	Parameters map[string]Template // texts; Report.Bind turns "42" into an integer
}

// Append appends an entry to a stream that services read. It has the fields, and
// the timer's name and due time (ms) as timer and due.
type Append struct {
	Stream string
	Fields map[string]Template
}

// Call sends a request to a service.
type Call struct {
	URL     Template // the values are escaped for their place
	Method  string   // default POST
	Headers map[string]Template
	Body    Template      // the values are escaped for its Content-Type
	Timeout time.Duration // of one try
}

// Timers are the definitions of a configuration, the longest prefix first.
type Timers []*Timer

// Match finds the definition for a timer's name, and what its pattern takes from
// it: of those that match, the one with the longest prefix.
func (ts Timers) Match(name string) (t *Timer, values map[string]string, ok bool) {
	for _, t := range ts {
		if values, ok := t.Key.Match(name); ok {
			return t, values, true
		}
	}
	return nil, nil, false
}

// Sorted puts the longest prefix first.
func (ts Timers) Sorted() Timers {
	slices.SortStableFunc(ts, func(a, b *Timer) int {
		return cmp.Or(cmp.Compare(len(b.Key.Prefix()), len(a.Key.Prefix())), cmp.Compare(a.Name, b.Name))
	})
	return ts
}

// Submit tells whether a timer submits a report, which makes a record.
func (ts Timers) Submit() bool {
	for _, one := range ts {
		if one.Submit != nil {
			return true
		}
	}
	return false
}
