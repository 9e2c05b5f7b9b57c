package tally

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/report"
)

// Other is the name under which the counters of a time count all names above their limit.
const Other = "@other"

// Bucket has what happened in a time. Names without events are missing in its maps; a nil *Ended or *Tried is one
// that has counted nothing.
type Bucket struct {
	From      time.Time
	Reports   map[string]*Ended
	Listeners map[string]*Tried
	Versions  []string // that started to run
}

// Ended counts the jobs of a report.
type Ended struct {
	Status map[report.Status]int64 // that ended after a run
	Wait   Histogram               // of those that started: from the push to the start
	Run    Histogram               // of those that ended: from the start to the end
}

// Tried counts the tries of a listener.
type Tried struct {
	OK     int64 // tasks that are done, when their jobs end
	Failed int64 // tries, at once
	Rows   int64 // of the tasks that are done
	Took   Histogram
}

// NewBucket returns an empty bucket.
func NewBucket(from time.Time) Bucket {
	return Bucket{From: from, Reports: map[string]*Ended{}, Listeners: map[string]*Tried{}}
}

// Fill adds what the counters of a time say, which Redis has as texts by name.
func (b *Bucket) Fill(counters map[string]string) {
	for key, text := range counters {
		if len(key) < len(ofReport) {
			continue
		}
		switch kind, name := key[:len(ofReport)], key[len(ofReport):]; kind {
		case ofReport:
			b.report(name).fill(text)
		case ofListener:
			b.listener(name).fill(text)
		case ofVersion:
			if !slices.Contains(b.Versions, name) {
				b.Versions = append(b.Versions, name)
			}
		}
	}
}

func (b *Bucket) report(name string) *Ended {
	if b.Reports[name] == nil {
		b.Reports[name] = &Ended{Status: map[report.Status]int64{}, Wait: Histogram{}, Run: Histogram{}}
	}
	return b.Reports[name]
}

func (b *Bucket) listener(name string) *Tried {
	if b.Listeners[name] == nil {
		b.Listeners[name] = &Tried{Took: Histogram{}}
	}
	return b.Listeners[name]
}

// Add adds another bucket, which does not change.
func (b *Bucket) Add(other Bucket) {
	for name, more := range other.Reports {
		b.report(name).add(more)
	}
	for name, more := range other.Listeners {
		b.listener(name).Add(more)
	}
}

// All returns the jobs of all reports together.
func (b Bucket) All() *Ended {
	sum := (&Bucket{Reports: map[string]*Ended{}}).report("")
	for _, one := range b.Reports {
		sum.add(one)
	}
	return sum
}

func (e *Ended) add(more *Ended) {
	for status, n := range more.Status {
		e.Status[status] += n
	}
	e.Wait.Add(more.Wait)
	e.Run.Add(more.Run)
}

// Add adds the counts of another one, which does not change.
func (t *Tried) Add(more *Tried) {
	t.OK, t.Failed, t.Rows = t.OK+more.OK, t.Failed+more.Failed, t.Rows+more.Rows
	t.Took.Add(more.Took)
}

func (e *Ended) fill(text string) {
	counts(text, func(what string, n int64) {
		switch {
		case count(e.Wait, "wait", what, n), count(e.Run, "run", what, n):
		default:
			e.Status[report.Status(what)] += n
		}
	})
}

func (t *Tried) fill(text string) {
	counts(text, func(what string, n int64) {
		switch {
		case count(t.Took, "took", what, n):
		case what == "ok":
			t.OK += n
		case what == "failed":
			t.Failed += n
		case what == "rows":
			t.Rows += n
		}
	})
}

// count adds to a histogram if the count is one of its own.
func count(h Histogram, of, what string, n int64) bool {
	number, ok := strings.CutPrefix(what, of)
	i, err := strconv.Atoi(number)
	if ok = ok && err == nil; ok {
		h[i] += n
	}
	return ok
}

// counts calls add for every count of a text.
func counts(text string, add func(what string, n int64)) {
	for one := range strings.FieldsSeq(text) {
		what, number, _ := strings.Cut(one, "=")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			add(what, n)
		}
	}
}
