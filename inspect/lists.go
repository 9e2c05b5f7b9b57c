package inspect

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts"
)

// pageSize is how many entries or members one round trip reads.
const pageSize = 1000

// collect takes what is meant out of pages, up to a limit (0: all). Where it takes
// nothing, the list is empty and not nil.
func collect[T any](pages iter.Seq2[[]T, error], meant func(T) bool, limit int) ([]T, error) {
	list := []T{}
	for page, err := range pages {
		if err != nil {
			return nil, err
		}
		for _, one := range page {
			if !meant(one) {
				continue
			}
			if list = append(list, one); len(list) == limit {
				return list, nil
			}
		}
	}
	return list, nil
}

// entries reads a stream page by page, the newest entries first or the oldest. The last
// page is the one that is not full, and may be empty.
func entries(ctx context.Context, rdb *redis.Client, key string, newest bool) iter.Seq2[[]redis.XMessage, error] {
	return func(yield func([]redis.XMessage, error) bool) {
		read, from, to := rdb.XRangeN, "-", "+"
		if newest {
			read, from, to = rdb.XRevRangeN, "+", "-"
		}
		for {
			page, err := read(ctx, key, from, to, pageSize).Result()
			if !yield(page, err) || err != nil || len(page) < pageSize {
				return
			}
			from = "(" + page[len(page)-1].ID
		}
	}
}

// members reads a sorted set page by page, by score.
func members(ctx context.Context, rdb *redis.Client, key string) iter.Seq2[[]redis.Z, error] {
	return func(yield func([]redis.Z, error) bool) {
		for start := int64(0); ; start += pageSize {
			page, err := rdb.ZRangeWithScores(ctx, key, start, start+pageSize-1).Result()
			if !yield(page, err) || err != nil || len(page) < pageSize {
				return
			}
		}
	}
}

// each makes something of every entry of pages.
func each[S, T any](pages iter.Seq2[[]S, error], of func(S) T) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		for page, err := range pages {
			var made []T
			for _, one := range page {
				made = append(made, of(one))
			}
			if !yield(made, err) {
				return
			}
		}
	}
}

// Quarantined is an entry that could not be used.
type Quarantined struct {
	Entry  string    `json:"entry"` // its name in the quarantine
	At     time.Time `json:"at"`
	Stream string    `json:"stream"` // from which it came
	Reason string    `json:"reason"`
	Fields string    `json:"fields"` // what it was, up to 1 KB
}

// Quarantine lists the quarantined entries that are meant, the newest first, up to a
// limit (0: all).
func (in *Inspector) Quarantine(ctx context.Context, meant func(Quarantined) bool, limit int) ([]Quarantined, error) {
	return collect(each(entries(ctx, in.o.Redis, in.o.Scripts.Keys.Quarantined(), true), newQuarantined), meant, limit)
}

func newQuarantined(m redis.XMessage) Quarantined {
	text := func(field string) string { s, _ := m.Values[field].(string); return s }
	return Quarantined{Entry: m.ID, At: entryTime(m.ID), Stream: text("stream"), Reason: text("reason"), Fields: text("fields")}
}

// searchQuarantine searches the newest entries of the quarantine for an id, and tells
// whether those are all.
func searchQuarantine(ctx context.Context, rdb *redis.Client, key, id string) (found *Quarantined, whole bool, err error) {
	seen := 0
	for page, err := range entries(ctx, rdb, key, true) {
		if err != nil {
			return nil, false, err
		}
		for _, m := range page {
			if q := newQuarantined(m); q.names(id) {
				return &q, true, nil
			}
		}
		if seen += len(page); seen >= 12*pageSize {
			return nil, false, nil
		}
	}
	return nil, true, nil
}

// names tells whether the fields of an entry name an id.
func (q Quarantined) names(id string) bool {
	for _, field := range strings.Fields(q.Fields) {
		name, value, _ := strings.Cut(field, "=")
		of, _, _ := strings.Cut(value, "/")
		if name == "id" && value == id || name == "member" && of == id {
			return true
		}
	}
	return false
}

// Pause is a pause of a listener or a report.
type Pause struct {
	What    string    `json:"what"` // listener/<name> or report/<name>
	Since   time.Time `json:"since"`
	Waiting int64     `json:"waiting"` // ids of a report
}

// Pauses lists what is paused, by name.
func (in *Inspector) Pauses(ctx context.Context) ([]Pause, error) {
	found, err := in.o.Scripts.Gate.Paused(ctx)
	if err != nil {
		return nil, err
	}
	list := []Pause{}
	for _, member := range slices.Sorted(maps.Keys(found)) {
		one := Pause{What: member, Since: found[member]}
		if name, ok := strings.CutPrefix(member, scripts.PausedReport("")); ok {
			if one.Waiting, err = in.o.Redis.ZCard(ctx, in.o.Scripts.Keys.Waiting(name)).Result(); err != nil {
				return nil, err
			}
		}
		list = append(list, one)
	}
	return list, nil
}

// Delayed is a member of the delayed set.
type Delayed struct {
	Member string     `json:"member"`
	ID     string     `json:"id,omitempty"`
	Due    *time.Time `json:"due,omitempty"` // nil: its score is no time
	In     string     `json:"in,omitempty"`  // how long it is until then; negative: overdue
	What   string     `json:"what"`
	Score  float64    `json:"-"`
	Bad    string     `json:"bad,omitempty"` // why it will never run

	later scripts.Later
}

// NewDelayed explains a member.
func NewDelayed(member string, score float64, now time.Time) Delayed {
	d := Delayed{Member: member, Score: score}
	var err error
	if d.later, err = scripts.ParseLater(member); err != nil {
		d.Bad, d.What = "means nothing: it is quarantined when it is due", "?"
	} else {
		d.ID, d.What = d.later.ID, whatLater(d.later)
	}
	due, ok := dueTime(score)
	if !ok || due.Sub(now) > scripts.Horizon {
		d.Bad = "its score is not a time, or more than ten years away: it is quarantined"
		return d
	}
	if due.UnixMilli() < scripts.MinMillis {
		due = now // the scheduler takes it for that
	}
	d.Due, d.In = &due, due.Sub(now).Round(time.Second).String()
	return d
}

// dueTime is the time that a score stands for: in milliseconds, or in seconds where it is
// small. It is false for a score that is no time.
func dueTime(score float64) (time.Time, bool) {
	if math.IsNaN(score) || math.IsInf(score, 0) || score >= scripts.NoTime {
		return time.Time{}, false
	}
	if score < scripts.MinMillis {
		score *= 1000
	}
	return time.UnixMilli(int64(score)), true
}

// whatLater says what happens when a member is due.
func whatLater(l scripts.Later) string {
	switch l.Step {
	case "":
		return "job"
	case scripts.StepTrigger:
		return "poll of the record"
	case scripts.StepFanIn:
		return "retry of fan-in"
	case scripts.StepRecord:
		return "retry of the record"
	}
	return "retry of " + l.Step
}

// Delayed lists the members of the delayed set that are meant, the next one first, up to
// a limit (0: all).
func (in *Inspector) Delayed(ctx context.Context, meant func(Delayed) bool, limit int) ([]Delayed, error) {
	now, err := in.o.Redis.Time(ctx).Result()
	if err != nil {
		return nil, err
	}
	return collect(each(members(ctx, in.o.Redis, in.o.Scripts.Keys.Delayed()), func(z redis.Z) Delayed {
		member, _ := z.Member.(string)
		return NewDelayed(member, z.Score, now)
	}), meant, limit)
}

// Timer is a timer as people see it.
type Timer struct {
	Name       string     `json:"name"`
	State      string     `json:"state"`         // set, overdue or paused, with "no definition" where none matches; or what was done
	Due        *time.Time `json:"due,omitempty"` // nil: its score is no time
	Every      string     `json:"every,omitempty"`
	Definition string     `json:"definition,omitempty"` // empty: none matches, it will not fire
}

// Timers lists the timers whose names are meant, set and paused ones, the next one first,
// up to a limit.
func (in *Inspector) Timers(ctx context.Context, meant func(name string) bool, limit int) ([]Timer, error) {
	now, err := in.o.Redis.Time(ctx).Result()
	if err != nil {
		return nil, err
	}
	all := []Timer{}
	for state, key := range map[string]string{"set": in.o.Scripts.Keys.Timers(), "paused": in.o.Scripts.Keys.PausedTimers()} {
		found, err := collect(each(members(ctx, in.o.Redis, key), func(z redis.Z) Timer {
			name, _ := z.Member.(string)
			due, _ := dueTime(z.Score)
			t := in.Timer(name, due, state)
			if state == "set" && t.overdue(now) {
				t.State = "overdue"
			}
			if t.Definition == "" {
				t.State += ", no definition"
			}
			return t
		}), func(t Timer) bool { return meant(t.Name) }, limit)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	slices.SortFunc(all, func(a, b Timer) int { return cmp.Or(a.when().Compare(b.when()), cmp.Compare(a.Name, b.Name)) })
	return all[:min(len(all), limit)], nil
}

// Timer describes a timer that is due at a time, or at none where that is zero.
func (in *Inspector) Timer(name string, due time.Time, state string) Timer {
	t := Timer{Name: name, State: state}
	if !due.IsZero() {
		due = due.UTC()
		t.Due = &due
	}
	if d, _, ok := in.o.Config.Timers.Match(name); ok {
		t.Definition, t.Every = d.Name, d.Every.String()
	}
	return t
}

func (t Timer) when() time.Time {
	if t.Due == nil {
		return time.Time{}
	}
	return *t.Due
}

// overdue tells whether it should have fired.
func (t Timer) overdue(now time.Time) bool { return t.Due != nil && now.Sub(*t.Due) > missed }
