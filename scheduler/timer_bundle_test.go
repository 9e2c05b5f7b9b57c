package scheduler

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scheduler/action"
	"github.com/fanfold/fanfold/scripts"
)

// timersBundle is what a test of timers needs: keys of its own, and definitions.
type timersBundle struct {
	t       *testing.T
	client  *redis.Client
	s       *scripts.Scripts
	prefix  string
	options TimerOptions
	stream  string        // where append appends
	runs    time.Duration // how long its schedulers are there already
}

func newTimers(t *testing.T, server *testenv.Redis, definitions ...*report.Timer) *timersBundle {
	t.Helper()
	client := server.Client()
	t.Cleanup(func() { _ = client.Close() })
	name := testmain.Name(t)
	b := &timersBundle{t: t, client: client, prefix: name + ":", stream: name + "-messages"}
	b.s = scripts.New(scripts.Options{Redis: client, Keys: report.Keys{Prefix: b.prefix, Hash: name + "-", Replies: "replies-"}})
	for _, d := range definitions {
		if own, ok := d.Own.(*action.AppendFields); ok {
			own.Stream = b.stream
		}
	}
	b.options = TimerOptions{
		Scripts: b.s, Redis: client, Timers: definitions, Actions: action.Kinds{action.Submit, action.Append, action.Call}, Consumer: "c1", Lease: time.Second,
		Log: slog.New(slog.NewTextHandler(logTo{t}, nil)),
	}
	return b
}

type logTo struct{ t *testing.T }

func (l logTo) Write(b []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}

// message is a timer msg-{user}-{type} that appends to the bundle's stream.
func message(t *testing.T, change ...func(*report.Timer)) *report.Timer {
	t.Helper()
	pattern, err := report.ParsePattern("msg-{user}-{type}")
	if err != nil {
		t.Fatal(err)
	}
	d := &report.Timer{
		Name: "message", Key: pattern, Missed: report.MissedOnce, MissedAfter: time.Minute, Retry: report.Retry{Retries: 3, Delay: 10 * time.Millisecond},
		Action: "append", Own: &action.AppendFields{Fields: map[string]report.Template{"user": report.NewTemplate("{user}"), "type": report.NewTemplate("{type}")}},
	}
	for _, c := range change {
		c(d)
	}
	return d
}

// run starts a scheduler of timers and returns what stops it. Deaf: nobody tells
// it of events.
func (b *timersBundle) run(consumer string, deaf bool) (timers *Timers, stop func()) {
	b.t.Helper()
	o := b.options
	o.Consumer = consumer
	timers, err := NewTimers(o)
	if err != nil {
		b.t.Fatal(err)
	}
	timers.began = timers.began.Add(-b.runs)
	ctx, cancel := context.WithCancel(b.t.Context())
	var group sync.WaitGroup
	if !deaf {
		sub := b.client.PSubscribe(ctx, "__keyspace@0__:"+b.prefix+"timer:*", "__keyspace@0__:"+b.prefix+"timers")
		for range 2 {
			if _, err := sub.Receive(ctx); err != nil {
				b.t.Fatal(err)
			}
		}
		group.Go(func() {
			for m := range sub.Channel(redis.WithChannelSize(10_000)) {
				if name, ok := strings.CutPrefix(m.Channel, "__keyspace@0__:"+b.prefix+"timer:"); ok {
					timers.Touched(name, m.Payload)
				} else {
					timers.Changed()
				}
			}
		})
		timers.Subscribed(true)
		context.AfterFunc(ctx, func() { _ = sub.Close() })
	}
	group.Go(func() {
		if err := timers.Run(ctx); err != nil {
			b.t.Error(err)
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		group.Wait()
	})
	b.t.Cleanup(stop)
	return timers, stop
}

func (b *timersBundle) until(what string, holds func() bool) {
	b.t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			b.t.Fatalf("not within 30 s: %s; appended %v, events %v", what, b.appended(), b.events())
		case <-tick.C:
		}
	}
}

// appended counts the entries of the stream, by timer.
func (b *timersBundle) appended() map[string]int {
	counts := map[string]int{}
	for _, e := range b.client.XRange(context.Background(), b.stream, "-", "+").Val() {
		counts[e.Values["timer"].(string)]++
	}
	return counts
}

// events counts the events, by timer and outcome.
func (b *timersBundle) events() map[string]int {
	counts := map[string]int{}
	for _, e := range b.client.XRange(context.Background(), b.s.Keys.Events, "-", "+").Val() {
		counts[e.Values["timer"].(string)+" "+e.Values["outcome"].(string)]++
	}
	return counts
}

// quiet waits until nothing is under way, with a timer that is set last.
func (b *timersBundle) quiet(name string) {
	b.t.Helper()
	b.set(name, 100*time.Millisecond)
	b.until(name, func() bool { return b.appended()[name] == 1 })
	b.until("no entry is left", func() bool { return b.client.XLen(b.t.Context(), b.s.Keys.Fired).Val() == 0 })
}

// set is what a service does: SET … PX.
func (b *timersBundle) set(name string, ttl time.Duration) {
	b.t.Helper()
	if err := b.client.Set(b.t.Context(), b.s.Keys.Timer(name), "", ttl).Err(); err != nil {
		b.t.Fatal(err)
	}
}

// zadd is what a service does, in milliseconds from now.
func (b *timersBundle) zadd(name string, in time.Duration) {
	b.t.Helper()
	b.score(name, float64(time.Now().Add(in).UnixMilli()))
}

func (b *timersBundle) score(name string, score float64) {
	b.t.Helper()
	if err := b.client.ZAdd(b.t.Context(), b.s.Keys.Timers, redis.Z{Score: score, Member: name}).Err(); err != nil {
		b.t.Fatal(err)
	}
}

// due is when a timer is due, 0 where it is not set.
func (b *timersBundle) due(name string) int64 {
	return int64(b.client.ZScore(b.t.Context(), b.s.Keys.Timers, name).Val())
}
