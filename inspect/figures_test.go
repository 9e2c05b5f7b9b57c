package inspect

import (
	"context"
	"errors"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/installation"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// figures reads all figures, by name and what they are of.
func (b *bundle) figures() map[string]float64 {
	b.Helper()
	all, err := b.in.Figures.Read(b.Context())
	b.OK(err)
	values := map[string]float64{}
	for _, f := range all {
		values[f.Name+" "+f.Of] = f.Value
	}
	return values
}

// want compares figures; those of seconds may be a little more.
func (b *bundle) want(what string, want map[string]float64) {
	b.Helper()
	values := b.figures()
	for name, want := range want {
		if got, ok := values[name]; !ok || got != want && (want < 60 || math.Abs(got-want) > 30) {
			b.Errorf("%s: %s is %v (%v), want %v", what, name, got, ok, want)
		}
	}
}

// TestFigures count; a key of another type is left out, and a Redis that is away is an error.
func TestFigures(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	ctx, k := t.Context(), b.Keys()
	b.Add(k.Dead, redis.Z{Score: 1, Member: "1"})
	b.OK(b.Redis.Set(ctx, k.Delayed, "something else", 0).Err())
	b.OK(b.Redis.Set(ctx, k.FanIn, "something else", 0).Err())
	b.want("at first", map[string]float64{"tasks_waiting b": 0, "tasks_workers b": 0, "jobs_dead ": 1, "jobs_parked two": 0, "jobs_waiting ": 0})
	values := b.figures()
	for _, name := range []string{"jobs_delayed ", "delayed_overdue_seconds ", "fanin_waiting ", "fanin_pending ", "fanin_lag ", "fanin_oldest_seconds "} {
		if _, ok := values[name]; ok {
			t.Errorf("a key of another type has the figure %s", name)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := b.in.Figures.Read(ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestBacklog follows a stream whose entries are ten, nine and eight minutes old.
func TestBacklog(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	ctx, s, task := t.Context(), b.Scripts.First(), b.Keys().Task("a")
	now, err := s.Now(ctx)
	b.OK(err)
	var ids []string
	for m := 10; m > 5; m-- {
		id, err := b.Redis.XAdd(ctx, &redis.XAddArgs{Stream: task, ID: redisID(now.Add(-time.Duration(m) * time.Minute)), Values: []string{"id", "1", "attempt", "1"}}).Result()
		b.OK(err)
		ids = append(ids, id)
	}
	figures := func(waiting, pending, oldest float64) map[string]float64 {
		return map[string]float64{"tasks_waiting a": waiting, "tasks_pending a": pending, "tasks_lag a": waiting - pending, "tasks_oldest_seconds a": oldest, "tasks_lag b": 0, "tasks_oldest_seconds b": 0}
	}
	read := func(n int64) {
		t.Helper()
		b.OK(b.Redis.XReadGroup(ctx, &redis.XReadGroupArgs{Group: scripts.Group, Consumer: "w", Streams: []string{task, ">"}, Count: n}).Err())
	}
	b.want("without a group", figures(5, 0, 600))
	b.OK(b.Redis.XGroupCreate(ctx, task, scripts.Group, "0").Err())
	b.want("with a group", figures(5, 0, 600))
	read(2)
	b.want("two are read", figures(5, 2, 600))
	b.OK(s.Streams.Ack(ctx, task, ids[0]))
	b.want("one is done", figures(4, 1, 540))
	b.OK(s.Streams.Ack(ctx, task, ids[1]))
	b.want("two are done", figures(3, 0, 480))
	b.OK(b.Redis.XDel(ctx, task, ids[3]).Err())
	b.want("an unread one is deleted", figures(2, 0, 480))
	read(10)
	b.want("all are read", figures(2, 2, 480))
	b.OK(s.Streams.Ack(ctx, task, ids...))
	b.want("all are done", figures(0, 0, 0))
}

// redisID is the id of an entry of that time.
func redisID(at time.Time) string { return strconv.FormatInt(at.UnixMilli(), 10) + "-1" }

// TestOverdue reads scores in milliseconds and in seconds.
func TestOverdue(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	k, later := b.Keys(), installation.In(time.Hour)
	ago := func(d time.Duration) float64 { return installation.In(-d) }
	for _, key := range []string{k.Delayed, k.Deadlines, k.Timers} {
		b.Add(key, redis.Z{Score: later, Member: "later"})
	}
	b.want("nothing is due", map[string]float64{"delayed_overdue_seconds ": 0, "timeout_overdue_seconds ": 0, "timers_overdue_seconds ": 0})
	b.Add(k.Delayed, redis.Z{Score: math.Floor(ago(5*time.Minute) / 1000), Member: "seconds"}, redis.Z{Score: 0, Member: "now"})
	b.Add(k.Timers, redis.Z{Score: math.Floor(installation.In(time.Hour) / 1000), Member: "seconds"}, redis.Z{Score: ago(7 * time.Minute), Member: "due"})
	b.Add(k.Deadlines, redis.Z{Score: ago(10 * time.Minute), Member: "1"})
	b.want("due", map[string]float64{"delayed_overdue_seconds ": 300, "timeout_overdue_seconds ": 600, "timers_overdue_seconds ": 420})
	b.Add(k.Delayed, redis.Z{Score: ago(20 * time.Minute), Member: "milliseconds"})
	b.want("both", map[string]float64{"delayed_overdue_seconds ": 1200})
}

// TestMemory reads how full a server is: nothing without a limit, and more than all where the limit
// is lowered below what is used.
func TestMemory(t *testing.T) {
	t.Parallel()
	server, err := testenv.StartRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	client := server.Client()
	t.Cleanup(func() { _ = client.Close() })
	in := New(Options{Scripts: scripts.Partitions{scripts.New(scripts.Options{Redis: client, Keys: report.Keys{Prefix: "p:"}})}})
	used := func() (float64, error) {
		found, err := in.Figures.Read(t.Context())
		return Sum(found).Of("redis_memory_used_ratio", ""), err
	}
	if ratio, err := used(); err != nil || ratio != 0 {
		t.Errorf("%v of no limit: %v", ratio, err)
	}
	if err := client.ConfigSet(t.Context(), "maxmemory", "1gb").Err(); err != nil {
		t.Fatal(err)
	}
	if ratio, err := used(); err != nil || ratio < 0 || ratio > 0.5 {
		t.Errorf("%v of 1 GB: %v", ratio, err)
	}
	if err := client.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if ratio, err := used(); err != nil || ratio <= 1 {
		t.Errorf("%v of 1 byte: %v", ratio, err)
	}
	server.Stop()
	if ratio, err := used(); err == nil {
		t.Errorf("%v of a server that is away", ratio)
	}
}

// TestIdleService: the consumer of a service that waits for tasks counts, also before Redis 7.2, which does
// not see it wait. Once a task stays unread, it does not count.
func TestIdleService(t *testing.T) {
	t.Parallel()
	b := setup(t, `  scored: {listeners: {service: {kind: external, columns: [k]}}}`)
	ctx, key := t.Context(), b.Keys().Task("service")
	b.OK(b.Redis.XGroupCreateMkStream(ctx, key, scripts.Group, "0").Err())
	b.OK(b.Redis.XGroupCreateConsumer(ctx, key, scripts.Group, "c").Err())
	reads, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for reads.Err() == nil {
			b.Redis.XReadGroup(reads, &redis.XReadGroupArgs{Group: scripts.Group, Consumer: "c", Streams: []string{key, ">"}, Block: time.Second})
		}
	}()
	began := time.Now()
	for time.Since(began) < servicePolls+time.Second {
		b.want("a service that waits", map[string]float64{"tasks_workers service": 1})
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
	stop()
	<-done
	b.OK(b.Redis.XAdd(ctx, &redis.XAddArgs{Stream: key, Values: []string{"id", "1", "attempt", "1"}}).Err())
	for end := time.Now().Add(time.Minute); b.figures()["tasks_workers service"] != 0; {
		if time.Now().After(end) {
			t.Fatal("a service that is gone counts as a worker")
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// TestReaders: a service polls less often than a process of Fanfold.
func TestReaders(t *testing.T) {
	t.Parallel()
	service := Reader{External: true, Silence: 3 * time.Second}
	ours := Reader{Silence: 30 * time.Second}
	for _, c := range []struct {
		idle          time.Duration
		pending       int64
		service, ours bool
	}{
		{time.Second, 0, true, true}, {5 * time.Second, 0, true, false}, {5 * time.Second, 1, true, true},
		{11 * time.Second, 1, false, true}, {time.Minute, 1, false, false},
	} {
		one := scripts.Consumer{Idle: c.idle, Pending: c.pending}
		if service.Alive(one) != c.service || ours.Alive(one) != c.ours {
			t.Errorf("%+v: %v and %v", c, service.Alive(one), ours.Alive(one))
		}
	}
}
