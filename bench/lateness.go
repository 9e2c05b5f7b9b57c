package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/scheduler"
	"github.com/fanfold/fanfold/scripts"
)

const (
	lateOthers = 200_000         // keys with a TTL of an hour that have nothing to do with it
	lateCount  = 500             // things that become due in one measurement
	lateZADDs  = 200             // ids that somebody adds, one after the other
	lateDeaf   = 5               // of those that take a second each
	lateSpread = 3 * time.Second // over which they become due
	lateAhead  = 2 * time.Second // from their making to the first of them
	latePlain  = time.Minute     // how long a plain expired event is waited for

	whatLateID = "delayed id, lateness"
	lateEvents = "fanfold, events"
	lateOff    = "fanfold, notifications off"
)

// lateness measures how late what is due happens, in a Redis that has many other
// keys with a TTL, with keyspace notifications and without.
func lateness(ctx context.Context, o options, dir string, r *results) error {
	mariadb, err := testenv.StartDatabase(ctx, mkdir(dir, "mariadb-lateness"))
	if err != nil {
		return err
	}
	defer mariadb.Stop()
	for round := range o.rounds {
		for _, system := range []string{lateEvents, lateOff} {
			var extra []string
			if system == lateOff {
				extra = []string{"--notify-keyspace-events", "", "--rename-command", "CONFIG", ""}
			}
			server, err := testenv.StartRedis(ctx, mkdir(dir, "redis-lateness", strconv.Itoa(round), strconv.Itoa(len(extra))), extra...)
			if err != nil {
				return err
			}
			client := server.Client()
			err = latenessOn(ctx, client, system, r)
			switch {
			case err != nil:
			case system == lateOff:
				err = deafZADD(ctx, server, round, r)
			default:
				err = foreignZADD(ctx, server, mariadb, round, r)
			}
			_ = client.Close()
			server.Stop()
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// distribution adds median, p99 and maximum of durations.
func (r *results) distribution(what, system string, late []time.Duration) {
	slices.Sort(late)
	for _, q := range []struct {
		name string
		at   int
	}{{"median", len(late) / 2}, {"p99", len(late) * 99 / 100}, {"max", len(late) - 1}} {
		r.add(what+", "+q.name, system, "ms", late[q.at].Seconds()*1000)
	}
}

// latenessOn measures delayed ids and timeouts, both at the same time.
func latenessOn(ctx context.Context, client *redis.Client, system string, r *results) error {
	if err := others(ctx, client); err != nil {
		return err
	}
	s := scripts.New(scripts.Options{Redis: client})
	stop, err := keepTime(ctx, client, s)
	if err != nil {
		return err
	}
	defer stop()
	due := map[string]int64{} // ms
	begin := time.Now().Add(lateAhead)
	for i := range lateCount {
		id, in := strconv.Itoa(i), time.Until(begin)+lateSpread*time.Duration(i)/lateCount
		// Milliseconds are what both can say.
		due["delayed "+id] = time.Now().Add(in).UnixMilli()
		if err := client.ZAdd(ctx, s.Keys.Delayed, redis.Z{Score: float64(due["delayed "+id]), Member: id}).Err(); err != nil {
			return err
		}
		if _, err := s.Jobs.Start(ctx, "", scripts.Start{ID: id, Attempt: 1, Plan: scripts.Plan{Report: "bench", Definition: "d", Timeout: in, Listeners: "l0"}}); err != nil {
			return err
		}
	}
	deadlines, err := client.ZRangeWithScores(ctx, s.Keys.Deadlines, 0, -1).Result()
	if err != nil {
		return err
	}
	for _, z := range deadlines {
		due["timeout "+z.Member.(string)] = int64(z.Score)
	}
	// The entries say, by the server's clock, when what was due happened.
	delayed, err := entries(ctx, client, s.Keys.Jobs, func(e redis.XMessage) (int64, bool) {
		return due["delayed "+e.Values["id"].(string)], true
	})
	if err != nil {
		return err
	}
	timeouts, err := entries(ctx, client, s.Keys.Events, func(e redis.XMessage) (int64, bool) {
		return due["timeout "+e.Values["id"].(string)], e.Values["event"] == "failing"
	})
	if err != nil {
		return err
	}
	r.distribution(whatLateID, system, delayed)
	r.distribution("timeout, lateness", system, timeouts)
	return nil
}

// others fills Redis with keys that end in an hour.
func others(ctx context.Context, client *redis.Client) error {
	const batch = 10_000
	for first := 0; first < lateOthers; first += batch {
		if _, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i := range batch {
				p.Set(ctx, "other:"+strconv.Itoa(first+i), i, time.Hour)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// keepTime runs a scheduler until the function is called that it returns.
func keepTime(ctx context.Context, client *redis.Client, s *scripts.Scripts) (func(), error) {
	keeper, err := scheduler.New(scheduler.Options{Scripts: s, Consumer: "bench"})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var group errgroup.Group
	group.Go(func() error { return keeper.Run(ctx) })
	// Until it has subscribed.
	return func() {
		cancel()
		_ = group.Wait()
	}, wait(ctx, 500*time.Millisecond)
}

// wait waits, unless ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// entries waits for as many entries of a stream as become due, and returns how
// late each of them was.
func entries(ctx context.Context, client *redis.Client, stream string, due func(redis.XMessage) (int64, bool)) ([]time.Duration, error) {
	var late []time.Duration
	for last := "0"; len(late) < lateCount; {
		streams, err := client.XRead(ctx, &redis.XReadArgs{Streams: []string{stream, last}, Block: time.Minute}).Result()
		if err != nil {
			return nil, fmt.Errorf("%d of %d in %s: %w", len(late), lateCount, stream, err)
		}
		for _, e := range streams[0].Messages {
			last = e.ID
			if at, ok := due(e); ok {
				text, _, _ := strings.Cut(e.ID, "-")
				ms, _ := strconv.ParseInt(text, 10, 64)
				late = append(late, time.Duration(ms-at)*time.Millisecond)
			}
		}
	}
	return late, nil
}

// plainEvents measures when expired events come that nobody hurries: Redis
// publishes them when it happens to find the keys, among many others.
func plainEvents(ctx context.Context, _ options, dir string, r *results) error {
	server, err := testenv.StartRedis(ctx, dir)
	if err != nil {
		return err
	}
	defer server.Stop()
	client := server.Client()
	defer client.Close()
	if err := others(ctx, client); err != nil {
		return err
	}
	pubsub := client.PSubscribe(ctx, "__keyspace@0__:plain:*")
	defer pubsub.Close()
	due := map[string]time.Time{}
	for i := range lateCount {
		key, in := "plain:"+strconv.Itoa(i), lateAhead+lateSpread*time.Duration(i)/lateCount
		due["__keyspace@0__:"+key] = time.Now().Add(in)
		if err := client.Set(ctx, key, "", in).Err(); err != nil {
			return err
		}
	}
	var late []time.Duration
	limit := time.NewTimer(lateAhead + lateSpread + latePlain)
	defer limit.Stop()
	messages := pubsub.Channel(redis.WithChannelSize(10_000))
	for waiting := true; waiting && len(late) < lateCount; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case m := <-messages:
			if m.Payload == "expired" {
				late = append(late, time.Since(due[m.Channel]))
			}
		case <-limit.C:
			waiting = false
		}
	}
	const what, system = "expired event of a plain key", "plain expired events"
	r.add(what+", not published a minute after the last was due", system, "of "+strconv.Itoa(lateCount), float64(lateCount-len(late)))
	for len(late) < lateCount { // so late at least
		late = append(late, latePlain)
	}
	slices.Sort(late)
	r.add(what+", lateness (at least), median", system, "s", late[len(late)/2].Seconds())
	return nil
}

// foreignZADD measures from a ZADD by somebody else, due now, to the listener
// having the job: scheduler, trigger and listener in one process.
func foreignZADD(ctx context.Context, server *testenv.Redis, mariadb *testenv.Database, round int, r *results) error {
	late, err := zadds(ctx, server, nil, idsOf("z", round, lateZADDs))
	if err != nil {
		return err
	}
	r.distribution("from a foreign ZADD to the listener, records in memory", lateEvents, late)
	store, all, err := filledTable(ctx, mariadb, round, lateZADDs)
	if err != nil {
		return err
	}
	late, err = zadds(ctx, server, store, all)
	if err != nil {
		return err
	}
	r.distribution("from a foreign ZADD to the listener, records in MariaDB", lateEvents, late)
	return nil
}

// deafZADD measures the same where the scheduler does not hear of it: each id
// waits for the next look, and comes right after the one before.
func deafZADD(ctx context.Context, server *testenv.Redis, round int, r *results) error {
	late, err := zadds(ctx, server, nil, idsOf("deaf", round, lateDeaf))
	if err != nil {
		return err
	}
	r.distribution("from a foreign ZADD to the listener, records in memory", lateOff, late)
	return nil
}
