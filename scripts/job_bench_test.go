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

// BenchmarkJobInRedis takes small jobs of two listeners with 100 numbers through their
// scripts, in batches, as under load, and reports how much of Redis' time every step takes
// for one job.
func BenchmarkJobInRedis(b *testing.B) {
	s, client := newScripts(b)
	ctx := b.Context()
	const jobs = 8 * batchJobs
	chunk := Chunk{Rows: 100, Names: []string{"k"}, Columns: []map[string]string{{"name": "k"}}, Fields: [][]byte{[]byte("[" + strings.Repeat("12,", 99) + "12]")}}
	spent := map[string]float64{}
	var rounds int
	for b.Loop() {
		step := func(what string, f func() error) {
			before := redisTime(b, client)
			if err := f(); err != nil {
				b.Fatal(what, err)
			}
			if b.Failed() {
				b.FailNow()
			}
			spent[what] += redisTime(b, client) - before
		}
		all := func(outcomes []Outcome, err error) error {
			for _, o := range outcomes {
				if err == nil && o != OK {
					err = fmt.Errorf("%v instead of %v", o, OK)
				}
			}
			return err
		}
		starts := make([]Start, jobs)
		for i := range starts {
			starts[i] = attempt(fmt.Sprintf("%d-%d", rounds, i), time.Hour, "one,two")
			starts[i].Definition = strings.Repeat("d", 64)
		}
		rounds++
		step("start", func() error { return all(s.Jobs.Start(ctx, "", starts...)) })
		for _, l := range []string{"one", "two"} {
			var tasks []*Task
			step("read", func() error {
				for _, m := range readMany(b, s, s.Keys.Task(l), jobs) {
					task, _ := s.Tasks.New(Message{m.Values["id"].(string), 1}, l, Entry{Stream: s.Keys.Task(l), Consumer: "c", ID: m.ID})
					tasks = append(tasks, task)
				}
				return nil
			})
			step("complete", func() error {
				together(b, s, jobs, func(i int) {
					if outcome, err := tasks[i].Complete(ctx, chunk, time.Millisecond); err != nil || outcome < OK {
						b.Error(outcome, err)
					}
				})
				return nil
			})
		}
		var small []Small
		step("read", func() error {
			for _, m := range readMany(b, s, s.Keys.FanIn, jobs) {
				small = append(small, Small{Message: Message{m.Values["id"].(string), 1}, Stage: 1, Entry: Entry{Stream: s.Keys.FanIn, Consumer: "c", ID: m.ID}})
			}
			return nil
		})
		var folds []*Fold
		step("open", func() (err error) {
			folds, err = s.Folds.Open(ctx, small)
			return err
		})
		step("publish", func() error { return all(s.Folds.Publish(ctx, folds...)) })
		step("settle", func() error {
			ends := make([]End, len(folds))
			for i, f := range folds {
				ends[i] = End{f, "SUCCESS", "file:///reports/1.csv", false}
			}
			return all(s.Folds.Settle(ctx, ends...))
		})
	}
	var sum float64
	for what, µs := range spent {
		b.ReportMetric(µs/float64(rounds*jobs), "µs/job-in-"+what)
		sum += µs
	}
	b.ReportMetric(sum/float64(rounds*jobs), "µs/job")
	b.ReportMetric(0, "ns/op")
}

// readMany gives entries of a stream to a consumer.
func readMany(b *testing.B, s *Scripts, stream string, n int64) []redis.XMessage {
	b.Helper()
	s.rdb.XGroupCreateMkStream(b.Context(), stream, Group, "0") // once
	found, err := s.rdb.XReadGroup(b.Context(), &redis.XReadGroupArgs{Group: Group, Consumer: "c", Streams: []string{stream, ">"}, Count: n}).Result()
	if err != nil || int64(len(found[0].Messages)) != n {
		b.Fatal(found, err)
	}
	return found[0].Messages
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

// BenchmarkKeep measures renewals that come at the same time.
func BenchmarkKeep(b *testing.B) {
	s, _ := newScripts(b)
	started(b, s, "1", time.Hour, "l")
	task := firstTask(b, s, "l", "w")
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if outcome, err := task.Renew(b.Context()); err != nil || outcome != OK {
				b.Error(outcome, err)
			}
		}
	})
}
