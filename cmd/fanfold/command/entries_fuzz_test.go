package command

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// What foreign hands put into Redis, by its number in a fuzzed input.
const (
	intoJobs = iota
	intoTask
	intoReply
	intoFanIn
	intoFired
	intoDelayed
	intoTimers
	places
)

// FuzzEntries writes arbitrary data into every stream and set that services write to while all
// roles run. No process crashes, every entry is removed, and unusable entries are quarantined.
func FuzzEntries(f *testing.F) {
	s := newStack(f, `
  r:
    retry: {retries: 1, delay: 100ms}
    listeners: {q: {database: db, query: "SELECT 1 AS a"}, x: {kind: external, columns: [a], silence: 30s}}
    join: {key: a}
`, "limits: {lease: 1s, shutdown_timeout: 1s}", `timers: {known: {key: "known-{a}", append: {stream: "fuzz:{a}", fields: {a: "{a}"}}}}`)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	b := s.Open(s.File)
	go func() { done <- b.Serve(ctx, process.Roles, slog.New(slog.DiscardHandler)) }()
	f.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			f.Errorf("serve: %v", err)
		}
	})
	// A job that waits for its service, so that inputs can refer to it.
	id := s.Records.Insert("r", "")
	s.Jobs.Push(id)
	var entry string
	s.Eventually("a task of the service", func() bool {
		streams, err := s.Redis.XReadGroup(ctx, &redis.XReadGroupArgs{
			Group: scripts.Group, Consumer: "c", Streams: []string{s.Partitions.First().Keys.Task("x"), ">"}, Block: 10 * time.Millisecond,
		}).Result()
		if err == nil && len(streams) > 0 {
			entry = streams[0].Messages[0].ID
		}
		return entry != ""
	})

	f.Add(byte(intoJobs), "1", "", "", "", 0.0)
	f.Add(byte(intoJobs), "no id", "-1", "polls", "x", 0.0)
	f.Add(byte(intoJobs), "404", "9223372036854775807", "traceparent", "\x00\xff", 0.0)
	f.Add(byte(intoTask), "1", "1", "cancel", "1", 0.0)
	f.Add(byte(intoTask), "2", "0", "", "", 0.0)
	f.Add(byte(intoTask), "1", "99", "memo", "{", 0.0)
	f.Add(byte(intoReply), "1", "1", "rows", `[[1]]`, 0.0)
	f.Add(byte(intoReply), "1", "1", "rows", `{}`, 2.0)
	f.Add(byte(intoReply), "1", "1", "done", "", 1.0)
	f.Add(byte(intoReply), "1", "1", "failed", "no\xffluck", 0.0)
	f.Add(byte(intoReply), "1", "1", "alive", "", 0.0)
	f.Add(byte(intoReply), "1", "2", "more", "", -1.0)
	f.Add(byte(intoReply), "../1", "", "rows", "", 0.5)
	f.Add(byte(intoFanIn), "1", "1", "stage", "0", 0.0)
	f.Add(byte(intoFanIn), "1", "one", "bytes", "-5", 0.0)
	f.Add(byte(intoFired), "known-1", "5", "try", "99999999999999999999", 0.0)
	f.Add(byte(intoFired), "unknown", "-5", "late", "x", 0.0)
	f.Add(byte(intoFired), "a b", "soon", "", "", 0.0)
	f.Add(byte(intoDelayed), "1/1/q", "", "", "", 1.0)
	f.Add(byte(intoDelayed), "1/x/q", "", "", "", math.Inf(1))
	f.Add(byte(intoDelayed), "404", "", "", "", -3.7)
	f.Add(byte(intoDelayed), "a//\x00", "", "", "", 1e18)
	f.Add(byte(intoTimers), "known-2", "", "", "", 5.0)
	f.Add(byte(intoTimers), "a b", "", "", "", 1e300)
	f.Add(byte(intoTimers), "unknown", "", "", "", math.Inf(-1))
	f.Fuzz(func(t *testing.T, place byte, id, attempt, name, value string, number float64) {
		e := entryFuzz{stack: s.in(t), place: int(place) % places, id: id, attempt: attempt, name: name, value: value, number: number, entry: entry}
		e.run()
		select {
		case err := <-done:
			done <- err
			t.Fatalf("serve has ended: %v", err)
		default:
		}
	})
}

// entryFuzz is one input.
type entryFuzz struct {
	*stack
	place                    int
	id, attempt, name, value string
	number                   float64
	entry                    string // of the service's task
	before                   string // the newest quarantined entry before this input
}

func (e entryFuzz) run() {
	e.Helper()
	e.before = "-"
	if newest, err := e.Redis.XRevRangeN(e.Context(), e.Partitions.First().Keys.Quarantined, "+", "-", 1).Result(); err != nil {
		e.Fatal(err)
	} else if len(newest) > 0 {
		e.before = "(" + newest[0].ID
	}
	k := e.Partitions.First().Keys
	attempt, err := strconv.ParseInt(e.attempt, 10, 64)
	task := report.ValidID(e.id) && err == nil && attempt > 0
	switch e.place {
	case intoJobs:
		e.append(k.Jobs, report.ValidID(e.id), "id", e.id, "polls", e.attempt, e.name, e.value)
	case intoTask:
		e.append(k.Task("q"), task, "id", e.id, "attempt", e.attempt, e.name, e.value)
	case intoReply:
		n := strconv.FormatFloat(e.number, 'f', -1, 64)
		e.append(k.Reply, task, "id", e.id, "attempt", e.attempt, "listener", "x", "worker", "w", "entry", e.entry, "consumer", "c",
			"type", e.name, "rows", e.value, "error", e.value, "number", n, "chunks", n)
	case intoFanIn:
		e.append(k.FanIn, task, "id", e.id, "attempt", e.attempt, e.name, e.value)
	case intoFired:
		e.append(k.Fired, report.ValidTimer(e.id) && err == nil, "name", e.id, "due", e.attempt, e.name, e.value)
	case intoDelayed:
		_, err := job.ParseLater(e.id)
		e.set(k.Delayed, err == nil)
	case intoTimers:
		e.set(k.Timers, report.ValidTimer(e.id))
	}
}

// append adds an entry to a stream and checks that it is removed, and quarantined unless it is
// sound.
func (e entryFuzz) append(stream string, sound bool, fields ...string) {
	e.Helper()
	ctx := e.Context()
	entry, err := e.Redis.XAdd(ctx, &redis.XAddArgs{Stream: stream, Values: fields}).Result()
	if err != nil {
		e.Fatal(err)
	}
	e.Eventually(fmt.Sprintf("%s %s leaves its stream: %q", stream, entry, fields), func() bool {
		left, err := e.Redis.XRange(ctx, stream, entry, entry).Result()
		return err == nil && len(left) == 0
	})
	if !sound && !e.quarantined(func(q map[string]any) bool { return q["stream"] == stream && q["entry"] == entry }) {
		e.Errorf("%s %s is not in the quarantine: %q", stream, entry, fields)
	}
}

// set adds a member to a set of due times and checks that it is removed once it is due, or at once
// if its time is invalid.
func (e entryFuzz) set(key string, sound bool) {
	e.Helper()
	ctx := e.Context()
	if math.IsNaN(e.number) {
		return // Redis takes none
	}
	at := e.number
	if at < scripts.MinMillis {
		at *= 1000
	}
	timeless := math.IsInf(at, 0) || at >= 1e14
	if at > float64(time.Now().UnixMilli()) && !timeless {
		return // not due
	}
	if key == e.Partitions.First().Keys.Timers && sound && !timeless && !strings.HasPrefix(e.id, "known-") {
		return // waits for a process that has its definition
	}
	if err := e.Redis.ZAdd(ctx, key, redis.Z{Score: e.number, Member: e.id}).Err(); err != nil {
		e.Fatal(err)
	}
	e.Eventually(fmt.Sprintf("%q with %v leaves %s", e.id, e.number, key), func() bool {
		score, err := e.Redis.ZScore(ctx, key, e.id).Result()
		// It may be delayed, because its record is polled again.
		return err == redis.Nil || sound && err == nil && score > float64(time.Now().UnixMilli()) && score < 1e14
	})
	if sound && !timeless {
		return
	}
	if !e.quarantined(func(q map[string]any) bool { return q["stream"] == key && q["entry"] == "" }) {
		e.Errorf("%q with %v of %s is not in the quarantine", e.id, e.number, key)
	}
}

// quarantined reports whether one of the new quarantined entries matches.
func (e entryFuzz) quarantined(is func(map[string]any) bool) bool {
	found, err := e.Redis.XRange(e.Context(), e.Partitions.First().Keys.Quarantined, e.before, "+").Result()
	if err != nil {
		e.Fatal(err)
	}
	for _, q := range found {
		if is(q.Values) {
			return true
		}
	}
	return false
}
