package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

const (
	waitingCount  = 100_000
	waitingWindow = 6 * time.Second // in each round
	waitingFor    = 30 * 24 * time.Hour
	// What happens once after something was added, such as its snapshot in MySQL, has
	// ended by then.
	waitingCalm = 6 * time.Second

	whatIdleCPU      = "idle engine, CPU of the process"
	whatIdleRedis    = "idle engine, CPU of Redis"
	whatIdleCommands = "idle engine, commands of Redis, with those in scripts"
	whatIdleCommand  = "idle engine, command of Redis: "
	whatIdleMemory   = "idle engine, memory of the process"
	whatIdleClients  = "idle engine, connections to Redis"
	whatIdleData     = "idle engine, memory that Redis takes for what waits"

	nothingWaits = "fanfold, nothing waits"
)

// waiter is something that waits in Redis while an engine is idle.
type waiter struct {
	system     string
	partitions int
	add        func(p redis.Pipeliner, i int, due time.Time) // nil: nothing
}

var waiters = []waiter{
	{nothingWaits, 1, nil},
	{"fanfold, 100,000 delayed ids", 1, func(p redis.Pipeliner, i int, due time.Time) {
		p.ZAdd(context.Background(), keys.Delayed, redis.Z{Score: float64(due.UnixMilli()), Member: strconv.Itoa(i)})
	}},
	{"fanfold, 100,000 timers, by ZADD", 1, func(p redis.Pipeliner, i int, due time.Time) {
		p.ZAdd(context.Background(), keys.Timers, redis.Z{Score: float64(due.UnixMilli()), Member: "send_message-" + strconv.Itoa(i)})
	}},
	{"fanfold, 100,000 timers, by SET", 1, func(p redis.Pipeliner, i int, due time.Time) {
		p.Set(context.Background(), keys.Timer("send_message-"+strconv.Itoa(i)), "", time.Until(due))
	}},
}

// idlePartitions are those of the engines that are idle in several partitions.
var idlePartitions = []int{1, 8, 32}

func ofPartitions(n int) string { return fmt.Sprintf("fanfold, %d partitions", n) }

// idleDivided measures engines for which nothing waits, in several partitions.
func idleDivided(ctx context.Context, o options, dir string, r *results) error {
	var all []waiter
	for _, n := range idlePartitions {
		all = append(all, waiter{ofPartitions(n), n, nil})
	}
	return idleEngines(ctx, o, dir, r, all)
}

var keys = scripts.NewKeys(report.DefaultKeys)

// idleEngine measures engines for which something waits.
func idleEngine(ctx context.Context, o options, dir string, r *results) error {
	return idleEngines(ctx, o, dir, r, waiters)
}

// idleEngines measures what fanfold serve takes that has nothing to do, and Redis
// beside it. The cases run at the same time: it is CPU time that counts.
func idleEngines(ctx context.Context, o options, dir string, r *results, waiters []waiter) error {
	program, err := buildProduct(ctx, filepath.Dir(dir))
	if err != nil {
		return err
	}
	mariadb, err := testenv.StartDatabase(ctx, mkdir(dir, "mariadb"))
	if err != nil {
		return err
	}
	defer mariadb.Stop()
	found := make([]idleness, len(waiters))
	group, ctx := errgroup.WithContext(ctx)
	for i, w := range waiters {
		group.Go(func() (err error) {
			schema := "waiting" + strconv.Itoa(i)
			found[i], err = w.measure(ctx, o.rounds, program, mkdir(dir, schema), mariadb, schema)
			if err != nil {
				return fmt.Errorf("%s: %w", w.system, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, w := range waiters {
		found[i].add(r, w)
	}
	return nil
}

// idleness is what was measured of one case.
type idleness struct {
	before, after, process float64  // MB: Redis without and with what waits, and the process
	clients                float64  // connections of the process
	windows                []window // one for each round
}

type window struct {
	process, redis float64            // % of a core
	commands       map[string]float64 // for each second
}

func (w waiter) measure(ctx context.Context, rounds int, program, dir string, m *testenv.Database, schema string) (found idleness, err error) {
	server, err := testenv.StartRedis(ctx, mkdir(dir, "redis"))
	if err != nil {
		return found, err
	}
	defer server.Stop()
	client := server.Client()
	defer client.Close()
	db, err := m.Open("")
	if err != nil {
		return found, err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "CREATE DATABASE "+schema); err != nil {
		return found, err
	}
	p, err := newProduct(ctx, program, dir, server, m, schema, map[string]any{
		"redis": map[string]any{"url": server.URL(), "partitions": w.partitions},
		"timers": map[string]any{"welcome": map[string]any{
			"key": "send_message-{user}", "append": map[string]any{"stream": "messages", "fields": map[string]any{"user": "{user}"}},
		}},
		"reports": map[string]any{"bench": map[string]any{"listeners": map[string]any{
			"l0": map[string]any{"database": schema, "query": "SELECT 1 AS k"},
			"l1": map[string]any{"database": schema, "query": "SELECT 1 AS k"},
		}, "join": map[string]any{"key": "k", "listeners": []string{"l0", "l1"}}}},
	})
	if err != nil {
		return found, err
	}
	serve, err := p.serve(ctx)
	if err != nil {
		return found, err
	}
	defer func() {
		_, stopped := serve.stop()
		err = errors.Join(err, stopped)
	}()
	if err := wait(ctx, waitingCalm); err != nil {
		return found, err
	}
	if found.before, err = usedMemory(ctx, client, "used_memory"); err != nil {
		return found, err
	}
	if w.add != nil {
		if err := w.fill(ctx, client); err != nil {
			return found, err
		}
		// Until all of it is in the set, and in the snapshot in MySQL.
		for saved := 0; saved < waitingCount; {
			if err := wait(ctx, 200*time.Millisecond); err != nil {
				return found, err
			}
			if err := db.QueryRowContext(ctx, "SELECT COALESCE(SUM(members), 0) FROM "+schema+".fanfold_snapshot").Scan(&saved); err != nil {
				return found, err
			}
		}
		if err := wait(ctx, waitingCalm); err != nil {
			return found, err
		}
	}
	for range rounds {
		seen, err := look(ctx, client, serve)
		if err != nil {
			return found, err
		}
		found.windows = append(found.windows, seen)
	}
	if found.process, err = serve.resident(); err != nil {
		return found, err
	}
	if found.clients, err = connections(ctx, client); err != nil {
		return found, err
	}
	found.after, err = usedMemory(ctx, client, "used_memory")
	return found, err
}

// fill adds what waits, due far away.
func (w waiter) fill(ctx context.Context, client *redis.Client) error {
	const batch = 10_000
	due := time.Now().Add(waitingFor)
	for first := 0; first < waitingCount; first += batch {
		if _, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i := range batch {
				w.add(p, first+i, due.Add(time.Duration(first+i)*time.Millisecond))
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// look measures for one window.
func look(ctx context.Context, client *redis.Client, serve *process) (seen window, err error) {
	cpu, err := serve.cpu()
	if err != nil {
		return seen, err
	}
	before, err := readUsage(ctx, client)
	if err != nil {
		return seen, err
	}
	begin := time.Now()
	if err := wait(ctx, waitingWindow); err != nil {
		return seen, err
	}
	after, err := readUsage(ctx, client)
	if err != nil {
		return seen, err
	}
	took := time.Since(begin).Seconds()
	end, err := serve.cpu()
	seen = window{process: 100 * (end - cpu).Seconds() / took, redis: 100 * (after.cpu - before.cpu) / took, commands: map[string]float64{}}
	for name, n := range after.commands {
		n -= before.commands[name]
		if name == "info" {
			n-- // the one that has asked before
		}
		if n > 0 {
			seen.commands[name] = float64(n) / took
		}
	}
	return seen, err
}

func (found idleness) add(r *results, w waiter) {
	for _, seen := range found.windows {
		r.add(whatIdleCPU, w.system, "% of a core", seen.process)
		r.add(whatIdleRedis, w.system, "% of a core", seen.redis)
		total := 0.0
		for _, n := range seen.commands {
			total += n
		}
		r.add(whatIdleCommands, w.system, "/s", total)
		for name, n := range seen.commands {
			r.add(whatIdleCommand+name, w.system, "/s", n)
		}
	}
	r.add(whatIdleMemory, w.system, "MB", found.process)
	r.add(whatIdleClients, w.system, "connections", found.clients)
	if w.add != nil {
		r.add(whatIdleData, w.system, "MB", found.after-found.before)
	}
}
