package e2e

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/inspect/watch"
	"github.com/fanfold/fanfold/internal/redisdb"
	"github.com/fanfold/fanfold/scripts"
)

// Jobs are the jobs of a stack: what a service pushes, and what Redis and the records say of it.
type Jobs struct {
	testing.TB
	p       *process.Process
	records Records
	files   Files
}

// Push pushes ids as a service does.
func (j Jobs) Push(ids ...string) {
	j.Helper()
	if err := j.push(ids); err != nil {
		j.Fatal(err)
	}
}

// PushAgain pushes ids until Redis accepts them, as a service does.
func (j Jobs) PushAgain(ids ...string) {
	j.Helper()
	Eventually(j, "Redis takes ids", func() bool { return j.push(ids) == nil })
}

func (j Jobs) push(ids []string) error {
	return scripts.Pushes(j.p.Partitions).Append(j.Context(), scripts.PushFields{}, ids...)
}

// Run inserts a record, pushes it, and returns the ended job.
func (j Jobs) Run(report, parameters string) inspect.Job {
	j.Helper()
	id := j.records.Insert(report, parameters)
	j.Push(id)
	return j.Wait(id)[0]
}

// Wait waits until the records are final.
func (j Jobs) Wait(ids ...string) []inspect.Job {
	j.Helper()
	ctx, cancel := context.WithTimeout(j.Context(), 2*time.Minute)
	defer cancel()
	views, err := watch.Jobs(ctx, j.p.Inspect, ids, silent{})
	if err != nil {
		for _, id := range ids {
			if v, viewErr := j.p.Inspect.Jobs.Get(j.Context(), id); viewErr != nil || !v.Status.Final() {
				j.Logf("%s: %+v %v", id, v, viewErr)
			}
		}
		j.Fatal(err)
	}
	return views
}

// silent shows nothing.
type silent struct{}

// Show implements watch.Watcher.
func (silent) Show(inspect.Job) error { return nil }

// Event implements watch.Watcher.
func (silent) Event(watch.Event) error { return nil }

// Succeed runs a job and returns the content of its file.
func (j Jobs) Succeed(report, parameters string) string {
	j.Helper()
	return j.files.Content(j.Run(report, parameters))
}

// CheckFinals fails the test unless every record became SUCCESS exactly once.
func (j Jobs) CheckFinals(ids []string) {
	j.Helper()
	for _, v := range j.Wait(ids...) {
		j.files.Content(v)
	}
	if n := j.records.Number("SELECT COUNT(*) FROM finals"); n != len(ids) {
		j.Errorf("%d records were given a final status %d times", len(ids), n)
	}
}

// Status returns the status of a job from its state in Redis, also of a job that has just ended; empty if
// Redis has neither.
func (j Jobs) Status(id string) string {
	j.Helper()
	_, statuses, err := j.p.Partitions.First().Jobs.Attempts(j.Context(), []string{id})
	if err != nil {
		j.Fatal(err)
	}
	return statuses[0]
}

// Reads returns the number of entries of a listener's stream that workers have read and not completed.
func (j Jobs) Reads(listener string) int64 {
	j.Helper()
	keys := j.p.Partitions.First().Keys
	pending, err := j.p.Redis.XPending(j.Context(), keys.Task(listener), scripts.Group).Result()
	if err != nil {
		return 0
	}
	return pending.Count
}

// events returns the entries of the stream of events.
func (j Jobs) events() []redis.XMessage {
	return j.p.Redis.XRange(j.Context(), j.p.Partitions.First().Keys.Events, "-", "+").Val()
}

// Events counts the events with a name for every job.
func (j Jobs) Events(name string) map[string]int {
	j.Helper()
	counts := map[string]int{}
	for _, m := range j.events() {
		if m.Values["event"] == name {
			counts[m.Values["id"].(string)]++
		}
	}
	return counts
}

// Retries returns the number of retry events of a step, and how many of them counted as a try.
func (j Jobs) Retries(id, step string) (all, counted int) {
	j.Helper()
	for _, m := range j.events() {
		if m.Values["event"] == "retry" && m.Values["id"] == id && m.Values["step"] == step {
			all++
			if m.Values["counts"] == "1" {
				counted++
			}
		}
	}
	return all, counted
}

// Started returns the time of a job's first event started, by Redis's clock.
func (j Jobs) Started(id string) time.Time {
	j.Helper()
	for _, m := range j.events() {
		if m.Values["id"] == id && m.Values["event"] == "started" {
			ms, _, _ := strings.Cut(m.ID, "-")
			n, _ := strconv.ParseInt(ms, 10, 64)
			return time.UnixMilli(n)
		}
	}
	j.Fatalf("job %s was not started", id)
	return time.Time{}
}

// Quarantined returns the reasons in the quarantine.
func (j Jobs) Quarantined() []string {
	j.Helper()
	var reasons []string
	keys := j.p.Partitions.First().Keys
	for _, m := range j.p.Redis.XRange(j.Context(), keys.Quarantined, "-", "+").Val() {
		reasons = append(reasons, m.Values["reason"].(string))
	}
	return reasons
}

// Idle waits until all streams and the deadlines are empty. It fails the test if Redis keeps a key without
// a TTL that is not documented to stay.
func (j Jobs) Idle() {
	j.Helper()
	ctx := j.Context()
	var streams, others []string
	for _, p := range j.p.Partitions {
		k := p.Keys
		streams = append(streams, k.Jobs, k.Next, k.FanIn, k.FanInLarge)
		others = append(others, k.Events, k.Audit, k.Quarantined, k.Dead, k.Delayed, k.Epoch, k.Snapshot, k.Fired,
			k.Finished, k.WaitingFired, k.Reply, k.Holds, k.RecentTimers, k.Installation, k.Version, k.TallyCursor)
	}
	keys := func() []string {
		var all []string
		for _, m := range masters(j, j.p) {
			all = append(all, m.Keys(ctx, "*").Val()...)
		}
		return all
	}
	isStream := func(key string) bool { return slices.Contains(streams, key) || strings.Contains(key, ":task:") }
	Eventually(j, "streams and deadlines are empty", func() bool {
		var left int64
		for _, key := range keys() {
			if isStream(key) {
				left += j.p.Redis.XLen(ctx, key).Val()
			}
		}
		for _, p := range j.p.Partitions {
			left += j.p.Redis.ZCard(ctx, p.Keys.Deadlines).Val() + j.p.Redis.HLen(ctx, p.Keys.Lanes).Val()
		}
		return left == 0
	})
	for _, key := range keys() {
		switch {
		case isStream(key), slices.Contains(others, key):
		case j.p.Redis.PTTL(ctx, key).Val() != -1: // it has a TTL, or was deleted meanwhile
		default:
			j.Errorf("%s is left in Redis without a TTL", key)
		}
	}
}

// masters returns the servers that have the keys.
func masters(t testing.TB, p *process.Process) []*redis.Client {
	t.Helper()
	all, err := redisdb.Masters(t.Context(), p.Redis)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Numbers returns "1", "2" … "n".
func Numbers(n int) []string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprint(i+1))
	}
	return list
}
