package tally

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/scripts/job"
)

// The names of counters begin with what they count.
const (
	ofReport   = "r/"
	ofListener = "l/"
	ofVersion  = "v/"
)

// Counter has the counts of one name, such as SUCCESS and run12 of a report.
type Counter map[string]int64

// String returns the counts as the counters in Redis have them, such as SUCCESS=3 run12=3.
func (c Counter) String() string {
	all := make([]string, 0, len(c))
	for what, n := range c {
		all = append(all, fmt.Sprintf("%s=%d", what, n))
	}
	return strings.Join(all, " ")
}

// Sums are what is to be added to the counters: by level, number and name.
type Sums map[Key]map[string]Counter

// Key names the counters of a time of a level.
type Key struct {
	Level  Level
	Number int64
}

// Len returns how many counters are to be changed.
func (s Sums) Len() (n int) {
	for _, names := range s {
		n += len(names)
	}
	return n
}

// add adds to a count of a name, in every level.
func (s Sums) add(at time.Time, name, what string, n int64) {
	for _, level := range Levels {
		key := Key{level, level.Number(at)}
		if s[key] == nil {
			s[key] = map[string]Counter{}
		}
		if s[key][name] == nil {
			s[key][name] = Counter{}
		}
		s[key][name][what] += n
	}
}

// duration adds to a histogram of a name.
func (s Sums) duration(at time.Time, name, what string, d time.Duration) {
	s.add(at, name, what+strconv.Itoa(bucketOf(d)), 1)
}

// Deploy adds that a version has started to run.
func (s Sums) Deploy(at time.Time, version string) { s.add(at, ofVersion+version, "n", 1) }

// Event adds what an event tells.
func (s Sums) Event(at time.Time, event map[string]string) {
	of := ofReport + event["report"]
	switch event["event"] {
	case "started":
		if ms, err := strconv.ParseInt(event["waited"], 10, 64); err == nil {
			s.duration(at, of, "wait", time.Duration(ms)*time.Millisecond)
		}
	case "finished":
		ms, err := strconv.ParseInt(event["ms"], 10, 64)
		if err != nil {
			return // it has not run
		}
		s.add(at, of, event["status"], 1)
		s.duration(at, of, "run", time.Duration(ms)*time.Millisecond)
		for name, task := range job.ParseSummary(event["tasks"]) {
			if task.Done && task.Policy == "" && task.Tries > 0 { // without a try, it reused the rows of an earlier one
				s.add(at, ofListener+name, "ok", 1)
				s.add(at, ofListener+name, "rows", task.Rows)
				s.duration(at, ofListener+name, "took", task.Took)
			}
		}
	case "retry":
		s.failed(at, event["step"])
	case "failing":
		s.failed(at, event["by"])
	case "omitted", "stale":
		s.failed(at, event["listener"])
	}
}

// failed adds a failed try. Steps that are no listener, such as @deadline, have no counters.
func (s Sums) failed(at time.Time, step string) {
	if step != "" && step[0] != '@' {
		s.add(at, ofListener+step, "failed", 1)
	}
}
