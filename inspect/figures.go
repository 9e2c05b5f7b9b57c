package inspect

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts"
)

// redisGauges reads lengths from Redis at each scrape, in one round trip of
// commands that cost the same however long the lists are. All processes tell the
// same: a dashboard takes the max, not the sum.
type redisGauges struct {
	redis  *redis.Client
	up     *prometheus.Desc
	gauges []gauge
}

// gauge is one number and the command that reads it.
type gauge struct {
	desc   *prometheus.Desc
	labels []string
	ask    func(ctx context.Context, p redis.Pipeliner) redis.Cmder
}

// Gauges is a collector of how much there is in Redis.
func (in *Inspector) Gauges() prometheus.Collector {
	g := &redisGauges{redis: in.redis}
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("fanfold_"+name, help, labels, nil)
	}
	g.up = desc("redis_up", "1 if Redis answered this scrape; without it the lengths are missing.")
	stream := func(desc *prometheus.Desc, key string, labels ...string) {
		g.gauges = append(g.gauges, gauge{desc, labels, func(ctx context.Context, p redis.Pipeliner) redis.Cmder { return p.XLen(ctx, key) }})
	}
	set := func(desc *prometheus.Desc, key string) {
		g.gauges = append(g.gauges, gauge{desc, nil, func(ctx context.Context, p redis.Pipeliner) redis.Cmder { return p.ZCard(ctx, key) }})
	}
	k := in.scripts.Keys
	stream(desc("jobs_waiting", "Pushed ids that are not started yet."), k.Jobs())
	set(desc("jobs_running", "Jobs that run, in all processes."), k.Deadlines())
	set(desc("jobs_delayed", "Ids and retries that are due later."), k.Delayed())
	set(desc("jobs_dead", "Failed jobs that nobody has run again or discarded."), k.Dead())
	set(desc("paused", "Listeners and reports that are paused."), k.PausedSet())
	parked := desc("jobs_parked", "Pushed ids that wait for their report, which is paused.", "report")
	for _, name := range slices.Sorted(maps.Keys(in.config.Reports)) {
		g.gauges = append(g.gauges, gauge{parked, []string{name}, func(ctx context.Context, p redis.Pipeliner) redis.Cmder {
			return p.ZCard(ctx, k.Waiting(name))
		}})
	}
	stream(desc("fanin_waiting", "Jobs whose listeners are done, and whose file is not, or that are to end."), k.FanIn())
	stream(desc("replies_waiting", "What external services said and is not applied yet."), k.Reply())
	stream(desc("quarantined", "Entries that were put aside; the oldest of about 10,000 go."), k.Quarantined())
	set(desc("timers", "Timers that are set and not paused."), k.Timers())
	stream(desc("timer_actions_waiting", "Timers that have fired and whose action is not done, in work or not."), k.Fired())
	set(desc("timer_actions_retrying", "Timers that have fired and whose action waits for its next try."), k.WaitingFired())
	waiting := desc("tasks_waiting", "Tasks that are not done, in work or not.", "listener")
	pending := desc("tasks_pending", "Tasks that a worker has read and not finished.", "listener")
	var names []string
	for _, r := range in.config.Reports {
		for _, s := range r.Stages {
			for _, l := range s.Listeners {
				names = append(names, l.Name)
			}
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		key := k.Task(name)
		stream(waiting, key, name)
		g.gauges = append(g.gauges, gauge{pending, []string{name}, func(ctx context.Context, p redis.Pipeliner) redis.Cmder {
			return p.XPending(ctx, key, scripts.Group)
		}})
	}
	return g
}

// Describe implements prometheus.Collector.
func (g *redisGauges) Describe(out chan<- *prometheus.Desc) {
	out <- g.up
	for _, one := range g.gauges {
		out <- one.desc
	}
}

// scrapeTime bounds what a scrape reads from Redis.
const scrapeTime = 3 * time.Second

// Collect implements prometheus.Collector.
func (g *redisGauges) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	cmds, _ := g.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, one := range g.gauges {
			one.ask(ctx, p)
		}
		return nil
	})
	up := 1.0
	for i, cmd := range cmds {
		var n int64
		switch c := cmd.(type) {
		case *redis.IntCmd:
			n = c.Val()
		case *redis.XPendingCmd:
			if c.Err() == nil {
				n = c.Val().Count
			}
		}
		var refused redis.Error
		if err := cmd.Err(); err != nil && !errors.As(err, &refused) {
			up = 0
			continue
		} else if err != nil && !missing(err) {
			continue // the key is something else
		}
		out <- prometheus.MustNewConstMetric(g.gauges[i].desc, prometheus.GaugeValue, float64(n), g.gauges[i].labels...)
	}
	out <- prometheus.MustNewConstMetric(g.up, prometheus.GaugeValue, up)
}
