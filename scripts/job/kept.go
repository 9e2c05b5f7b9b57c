package job

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/report"
)

// Keep says which datasets stay in Redis or the spool after the end of a job.
type Keep struct {
	For         time.Duration            // of a job that ends without a file, from its end; 0: none
	Definitions map[string]string        // of the listeners of all stages, by name: report.ListenerHash
	Stale       map[string]time.Duration // of a job with a file: the max age of the datasets that stay, by listener
}

// String returns the field `keep` of the job's hash, which ParseKeep reads; empty: none stays.
func (k Keep) String() string {
	if k.For <= 0 && len(k.Stale) == 0 {
		return ""
	}
	text := strconv.FormatInt(k.For.Milliseconds(), 10)
	for _, listener := range slices.Sorted(maps.Keys(k.Definitions)) {
		text += " " + listener + "=" + k.Definitions[listener]
		if age := k.Stale[listener]; age > 0 {
			text += ":" + strconv.FormatInt(age.Milliseconds(), 10)
		}
	}
	return text
}

// After tells whether datasets stay for the next attempt of a job that ends with a status.
func (k Keep) After(status string) bool {
	return k.For > 0 && (status == string(report.Failed) || status == string(report.Cancelled))
}

// Good tells whether datasets stay for later jobs, which may fall back to them.
func (k Keep) Good(status string) bool { return len(k.Stale) > 0 && report.Status(status).HasFile() }

// Keeps tells whether the dataset of a listener that is done stays after the end of a job with a status.
func (k Keep) Keeps(listener, status string) bool {
	return k.After(status) || k.Good(status) && k.Stale[listener] > 0
}

// ParseKeep reads the field `keep` of a job's hash.
func ParseKeep(text string) (k Keep) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return k
	}
	k = Keep{For: millis(words[0]), Definitions: map[string]string{}, Stale: map[string]time.Duration{}}
	for _, word := range words[1:] {
		name, hash, _ := strings.Cut(word, "=")
		hash, age, stale := strings.Cut(hash, ":")
		if k.Definitions[name] = hash; stale {
			k.Stale[name] = millis(age)
		}
	}
	return k
}

func millis(text string) time.Duration {
	ms, _ := strconv.ParseInt(text, 10, 64)
	return time.Duration(ms) * time.Millisecond
}

// KeepOf returns what the end of a job of a report keeps.
func KeepOf(r *report.Report) Keep {
	keep := Keep{For: r.Keep, Definitions: map[string]string{}, Stale: map[string]time.Duration{}}
	for _, l := range r.Listeners() {
		keep.Definitions[l.Name] = report.ListenerHash(r, l)
		if l.OnFailure.Stale > 0 {
			keep.Stale[l.Name] = l.OnFailure.Stale
		}
	}
	return keep
}

// FresherThan is the field of a push that bounds the age of datasets that its job reuses, such as 10m. With 0 the job
// reuses none.
const FresherThan = "fresher_than"

// AnyAge is the bound of a push without FresherThan.
const AnyAge time.Duration = math.MaxInt64

// ParseAge reads a maximum age of datasets, such as 10m; empty: AnyAge.
func ParseAge(text string) (time.Duration, error) {
	if text == "" {
		return AnyAge, nil
	}
	within, err := time.ParseDuration(text)
	if err != nil || within < 0 {
		return 0, fmt.Errorf("%.100q is not a duration such as 10m, or 0 to read everything anew", text)
	}
	return within, nil
}

// Reading is how an attempt gets the dataset of a listener.
type Reading struct {
	Listener string
	Reused   int64     // the attempt that has read it; 0: it is read anew
	At       time.Time // when it was read; zero: it was not
	Why      string    // it is read anew
}

// Readings returns how the next attempt of a job gets its datasets, in the order of the report: what an earlier
// attempt has left (nil: nothing), for the same parameters and no older than within, by Redis's clock. Stored are the
// columns that the attempt uses, by listener; all of one that is missing.
func Readings(
	r *report.Report, stored map[string][]string, kept *State, parameters []byte, within time.Duration, now time.Time,
) []Reading {
	var all []Reading
	anew := map[string]bool{}
	for _, l := range r.Listeners() {
		reading := Reading{Listener: l.Name}
		var task TaskState
		if kept != nil && kept.Report == r.Name {
			task = kept.Tasks[l.Name]
		}
		if task.Done {
			reading.At = task.ReadAt()
		}
		uses := slices.IndexFunc(l.Needs(), func(name string) bool { return anew[name] })
		lacks := ""
		if task.Done && kept.Definition != r.Hash() {
			lacks = lacking(l, stored, task)
		}
		switch {
		case r.Keep == 0 || !task.Done || !now.Before(task.KeptUntil):
			reading.Why = "no dataset of it is kept"
		case within <= 0:
			reading.Why = "everything is to be read anew"
		case kept.Keep.Definitions[l.Name] != report.ListenerHash(r, l):
			reading.Why = "its definition has changed"
		case lacks != "":
			reading.Why = "its column " + lacks + " was not stored"
		case !bytes.Equal(kept.Parameters, parameters):
			reading.Why = "the parameters have changed"
		case now.Sub(reading.At) > within:
			reading.Why = "it is older than " + report.ShortDuration(within)
		case uses >= 0:
			reading.Why = "it uses " + l.Needs()[uses]
		default:
			reading.Reused = task.Reused
		}
		anew[l.Name] = reading.Reused == 0
		all = append(all, reading)
	}
	return all
}

// lacking returns a column of a listener that is to be stored, and that its dataset does not have; empty: it has all.
func lacking(l *report.Listener, stored map[string][]string, task TaskState) string {
	var have []struct{ Name string }
	_ = json.Unmarshal(task.Columns, &have) // of what cannot be read, it has none
	names, some := stored[l.Name]
	if !some {
		names = l.Columns
	}
	for _, name := range names {
		if !slices.ContainsFunc(have, func(c struct{ Name string }) bool { return c.Name == name }) {
			return name
		}
	}
	return ""
}
