package scheduler

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scheduler/action"
	"github.com/fanfold/fanfold/scripts"
)

func benchScripts(b *testing.B) (*scripts.Scripts, *redis.Client) {
	b.Helper()
	client := testmain.SharedRedis(b).Client()
	b.Cleanup(func() { _ = client.Close() })
	name := testmain.Name(b)
	return scripts.New(scripts.Options{Redis: client, Keys: report.Keys{Prefix: name + ":", Hash: name + "-"}}), client
}

// addDue adds b.N members that are due.
func addDue(b *testing.B, client *redis.Client, set, member string) {
	b.Helper()
	due := float64(time.Now().UnixMilli())
	for first := 0; first < b.N; first += 10_000 {
		if _, err := client.Pipelined(b.Context(), func(p redis.Pipeliner) error {
			for i := first; i < min(first+10_000, b.N); i++ {
				p.ZAdd(b.Context(), set, redis.Z{Score: due, Member: fmt.Sprintf(member, i)})
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	}
}

// untilEmpty calls once until nothing is due any more.
func untilEmpty(b *testing.B, once func(context.Context) (time.Duration, error)) {
	b.ReportAllocs()
	b.ResetTimer()
	for {
		if wait, err := once(b.Context()); err != nil {
			b.Fatal(err)
		} else if wait > 0 {
			return
		}
	}
}

// BenchmarkMoveDue measures an id that is due, among many.
func BenchmarkMoveDue(b *testing.B) {
	s, client := benchScripts(b)
	scheduler, err := New(Options{Scripts: s, Consumer: "c1"})
	if err != nil {
		b.Fatal(err)
	}
	addDue(b, client, s.Keys.Delayed, "%d")
	untilEmpty(b, scheduler.mover.once)
	if n := client.XLen(b.Context(), s.Keys.Jobs).Val(); n != int64(b.N) {
		b.Errorf("%d of %d were moved", n, b.N)
	}
}

// BenchmarkFireDue measures a timer that is due, among many, without its action.
func BenchmarkFireDue(b *testing.B) {
	s, client := benchScripts(b)
	pattern, wrong := report.ParsePattern("msg-{user}")
	if wrong != nil {
		b.Fatal(wrong)
	}
	timers, err := NewTimers(TimerOptions{Scripts: s, Redis: client, Consumer: "c1", Actions: action.Kinds{action.Append}, Timers: report.Timers{
		{Name: "message", Key: pattern, Missed: report.MissedOnce, Action: "append", Own: &action.AppendFields{Stream: "messages"}},
	}})
	if err != nil {
		b.Fatal(err)
	}
	addDue(b, client, s.Keys.Timers, "msg-%d")
	untilEmpty(b, timers.fireDue)
	if n := client.XLen(b.Context(), s.Keys.Fired).Val(); n != int64(b.N) {
		b.Errorf("%d of %d have fired", n, b.N)
	}
}

// BenchmarkTell measures a keyspace event of the wake key.
func BenchmarkTell(b *testing.B) {
	s, _ := benchScripts(b)
	scheduler, err := New(Options{Scripts: s, Consumer: "c1"})
	if err != nil {
		b.Fatal(err)
	}
	e := scheduler.subscription.events(0)
	m := &redis.Message{Channel: e.prefix + s.Keys.Wake, Payload: "set"}
	b.ReportAllocs()
	for b.Loop() {
		e.tell(m)
	}
}
