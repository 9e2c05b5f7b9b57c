package scripts

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// BenchmarkJobInRedis takes jobs of two listeners with 100 numbers through their
// scripts, many at a time, as under load, and reports for each script how much
// of Redis' time it takes for one job.
func BenchmarkJobInRedis(b *testing.B) {
	s, client := newScripts(b, false)
	ctx := b.Context()
	const jobs = 8 * batchCalls
	numbers := []byte("[" + strings.Repeat("12,", 99) + "12]")
	chunk := Chunk{Rows: 100, Names: []string{"k"}, Columns: []map[string]string{{"name": "k"}}, Fields: [][]byte{numbers}}
	listeners := []string{"one", "two"}
	spent := map[string]float64{}
	var round int
	for b.Loop() {
		ids := make([]string, jobs)
		states := make([]*State, jobs)
		for i := range ids {
			ids[i] = fmt.Sprintf("%d-%d", round, i)
		}
		round++
		step := func(what string, f func(i int) error) {
			before := redisTime(b, client)
			atOnce(b, s, jobs, func(number string) error {
				i, _ := strconv.Atoi(number)
				return f(i)
			})
			if b.Failed() {
				b.FailNow()
			}
			spent[what] += redisTime(b, client) - before
		}
		must := func(outcome Outcome, err error, want Outcome) error {
			if err == nil && outcome != want {
				err = fmt.Errorf("%v instead of %v", outcome, want)
			}
			return err
		}
		step("start", func(i int) error {
			outcome, err := s.Start(ctx, Start{ID: ids[i], Attempt: 1, Report: "r", Definition: strings.Repeat("d", 64), Parameters: []byte("{}"), Timeout: time.Hour, Listeners: listeners})
			return must(outcome, err, OK)
		})
		for n, l := range listeners {
			task := func(i int) Task {
				return Task{ID: ids[i], Attempt: 1, Listener: l, Owner: "host-1234/" + ids[i], Lease: 10 * time.Second,
					Entry: Entry{Stream: s.Task(l), Group: Group, Consumer: "host-1234", ID: "1-1"}}
			}
			step("take", func(i int) error {
				outcome, _, err := s.Take(ctx, task(i), []string{strings.Repeat("d", 64)})
				return must(outcome, err, OK)
			})
			step("append", func(i int) error {
				outcome, err := s.Complete(ctx, task(i), chunk, time.Millisecond)
				return must(outcome, err, []Outcome{OK, Already}[n])
			})
		}
		step("claim", func(i int) error {
			outcome, state, err := s.Claim(ctx, Claim{ID: ids[i], Attempt: 1, Stage: 1, Worker: "host-1234/" + ids[i], Lease: 10 * time.Second, Known: []string{strings.Repeat("d", 64)}, Bytes: 600})
			states[i] = state
			return must(outcome, err, OK)
		})
		step("publish", func(i int) error {
			outcome, err := s.Publish(ctx, states[i])
			return must(outcome, err, OK)
		})
		step("settle", func(i int) error {
			states[i].Entry = Entry{Stream: s.FanIn(), Group: Group, Consumer: "host-1234", ID: "1-1"}
			outcome, err := s.Settle(ctx, states[i], "SUCCESS", "file:///reports/1.csv")
			return must(outcome, err, OK)
		})
	}
	var all float64
	for what, µs := range spent {
		b.ReportMetric(µs/float64(round*jobs), "µs/job-in-"+what)
		all += µs
	}
	b.ReportMetric(all/float64(round*jobs), "µs/job")
	b.ReportMetric(0, "ns/op")
}

var mainThread = regexp.MustCompile(`used_cpu_(?:sys|user)_main_thread:([0-9.]+)`)

// redisTime is how much CPU Redis' main thread has used, in microseconds.
func redisTime(b *testing.B, client redis.UniversalClient) (sum float64) {
	b.Helper()
	info, err := client.Info(context.Background(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	for _, found := range mainThread.FindAllStringSubmatch(info, -1) {
		s, _ := strconv.ParseFloat(found[1], 64)
		sum += s * 1e6
	}
	return sum
}
