package inspect

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts"
)

// Figure is how much there is of something in Redis.
type Figure struct {
	Name  string `json:"name"` // of the metric, without fanfold_
	Help  string `json:"-"`
	Label string `json:"label,omitempty"` // what it is of: listener or report
	Of    string `json:"of,omitempty"`    // its name
	Part  string `json:"partition,omitempty"`
	Value int64  `json:"value"`

	key string
	ask func(ctx context.Context, p redis.Pipeliner, key string) redis.Cmder
}

// Figures reads what is in Redis, in one round trip of commands that cost the same however
// long the lists are. Where a key is of another type, its figure is missing; any other
// error is that of Redis, and comes with the figures of the servers that answered.
func (in *Inspector) Figures(ctx context.Context) ([]Figure, error) {
	var found []Figure
	var failed error
	all := figures(in)
	cmds, _ := in.o.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, f := range all {
			f.ask(ctx, p, f.key)
		}
		return nil
	})
	for i, cmd := range cmds {
		f := all[i]
		switch c := cmd.(type) {
		case *redis.IntCmd:
			f.Value = c.Val()
		case *redis.XInfoConsumersCmd:
			for _, one := range c.Val() {
				if _, alive := lastHeard([]redis.XInfoConsumer{one}, in.o.Config.Limits.Lease); alive {
					f.Value++
				}
			}
		case *redis.XPendingCmd:
			if c.Err() == nil {
				f.Value = c.Val().Count
			}
		}
		var refused redis.Error
		switch err := cmd.Err(); {
		case err != nil && !errors.As(err, &refused):
			failed = cmp.Or(failed, err) // other partitions may answer
		case err == nil || missing(err):
			found = append(found, f)
		}
	}
	return found, failed
}

// figures lists what there is to read in all partitions.
func figures(in *Inspector) (all []Figure) {
	for i, s := range in.o.Scripts {
		for _, f := range figuresOf(in, s.Keys) {
			if len(in.o.Scripts) > 1 {
				f.Part = strconv.Itoa(i)
			}
			all = append(all, f)
		}
	}
	home := in.o.Scripts.Home().Keys
	members := func(ctx context.Context, p redis.Pipeliner, key string) redis.Cmder { return p.ZCard(ctx, key) }
	return append(all, Figure{Name: "paused", Help: "Listeners and reports that are paused.", key: home.PausedSet(), ask: members})
}

// figuresOf lists what there is to read in a partition.
func figuresOf(in *Inspector, k scripts.Keys) []Figure {
	length := func(ctx context.Context, p redis.Pipeliner, key string) redis.Cmder { return p.XLen(ctx, key) }
	members := func(ctx context.Context, p redis.Pipeliner, key string) redis.Cmder { return p.ZCard(ctx, key) }
	pending := func(ctx context.Context, p redis.Pipeliner, key string) redis.Cmder {
		return p.XPending(ctx, key, scripts.Group)
	}
	workers := func(ctx context.Context, p redis.Pipeliner, key string) redis.Cmder {
		return p.XInfoConsumers(ctx, key, scripts.Group)
	}
	all := []Figure{
		{Name: "jobs_waiting", Help: "Pushed ids that are not started yet.", key: k.Jobs(), ask: length},
		{Name: "jobs_running", Help: "Jobs that run, in all processes.", key: k.Deadlines(), ask: members},
		{Name: "jobs_delayed", Help: "Ids and retries that are due later.", key: k.Delayed(), ask: members},
		{Name: "jobs_dead", Help: "Failed jobs that were neither run again nor discarded.", key: k.Dead(), ask: members},
		{Name: "fanin_waiting", Help: "Jobs whose listeners are done, and whose file is not, or that are to end.", key: k.FanIn(), ask: length},
		{Name: "fanin_large_waiting", Help: "The same of jobs with much data, of which each process folds limits.folds at once.", key: k.FanInLarge(), ask: length},
		{Name: "replies_waiting", Help: "What external services said and is not applied yet.", key: k.Reply(), ask: length},
		{Name: "quarantined", Help: "Entries that could not be used; the oldest of about 10,000 are removed.", key: k.Quarantined(), ask: length},
		{Name: "timers", Help: "Timers that are set and not paused.", key: k.Timers(), ask: members},
		{Name: "timer_actions_waiting", Help: "Timers that have fired and whose action is not done, in work or not.", key: k.Fired(), ask: length},
		{Name: "timer_actions_retrying", Help: "Timers that have fired and whose action waits for its next try.", key: k.WaitingFired(), ask: members},
	}
	listeners := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(in.o.Config.Reports)) {
		all = append(all, Figure{Name: "jobs_parked", Help: "Pushed ids that wait for their report, which is paused.", Label: "report", Of: name, key: k.Waiting(name), ask: members})
		for _, l := range in.o.Config.Reports[name].Listeners() {
			listeners[l.Name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(listeners)) {
		all = append(all,
			Figure{Name: "tasks_waiting", Help: "Tasks that are not done, in work or not.", Label: "listener", Of: name, key: k.Task(name), ask: length},
			Figure{Name: "tasks_pending", Help: "Tasks that a worker has read and not finished.", Label: "listener", Of: name, key: k.Task(name), ask: pending},
			Figure{Name: "tasks_workers", Help: "Processes that run the listener.", Label: "listener", Of: name, key: k.Task(name), ask: workers})
	}
	return all
}

// NewGauges is a collector of the Figures. All processes tell the same: a dashboard takes the
// max, not the sum.
func NewGauges(in *Inspector) prometheus.Collector {
	g := &gauges{in: in, descs: map[string]*prometheus.Desc{}}
	g.up = prometheus.NewDesc("fanfold_redis_up", "1 if Redis answered this scrape; without it the lengths are missing.", nil, nil)
	for _, f := range figures(in) {
		var labels []string
		if f.Label != "" {
			labels = append(labels, f.Label)
		}
		if f.Part != "" {
			labels = append(labels, "partition")
		}
		g.descs[f.Name] = prometheus.NewDesc("fanfold_"+f.Name, f.Help, labels, nil)
	}
	return g
}

type gauges struct {
	in    *Inspector
	up    *prometheus.Desc
	descs map[string]*prometheus.Desc // by name
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(out chan<- *prometheus.Desc) {
	out <- g.up
	for _, d := range g.descs {
		out <- d
	}
}

// scrapeTime bounds what a scrape reads from Redis.
const scrapeTime = 3 * time.Second

// Collect implements prometheus.Collector.
func (g *gauges) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	all, err := g.in.Figures(ctx)
	up := 1.0
	if err != nil {
		up = 0
	}
	for _, f := range all {
		var labels []string
		if f.Label != "" {
			labels = append(labels, f.Of)
		}
		if f.Part != "" {
			labels = append(labels, f.Part)
		}
		out <- prometheus.MustNewConstMetric(g.descs[f.Name], prometheus.GaugeValue, float64(f.Value), labels...)
	}
	out <- prometheus.MustNewConstMetric(g.up, prometheus.GaugeValue, up)
}
