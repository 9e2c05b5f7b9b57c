package inspect

import (
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Reader is who reads a stream.
type Reader struct {
	Listener string        // whose tasks it has; empty: those of all jobs
	External bool          // services read it, and otherwise processes of Fanfold
	Silence  time.Duration // after which one that works is considered dead
}

// How often a reader polls at least, unless it works.
const (
	ourPolls     = 3 * time.Second
	servicePolls = 10 * time.Second // docs/guides/external-listeners.md lets a service wait for 5 seconds
)

// Readers tells who reads the streams of a partition, by their keys.
func (in *Inspector) Readers(k scripts.Keys) map[string]Reader {
	ours := Reader{Silence: in.o.Config.Limits.Lease}
	all := map[string]Reader{k.Jobs(): ours, k.FanIn(): ours, k.FanInLarge(): ours, k.Fired(): ours, k.Finished(): ours}
	for _, r := range in.o.Config.Reports {
		for _, l := range r.Listeners() {
			key := k.Task(l.Name)
			if l.Kind == report.External {
				all[key] = Reader{l.Name, true, max(all[key].Silence, l.Silence)}
				all[k.Reply()] = ours
			} else {
				all[key] = Reader{l.Name, false, ours.Silence}
			}
		}
	}
	return all
}

// Alive tells whether a consumer waits for entries or works on one.
func (r Reader) Alive(c redis.XInfoConsumer) bool {
	polls := ourPolls
	if r.External {
		polls = servicePolls
	}
	return c.Idle < polls || c.Pending > 0 && c.Idle < r.Silence
}
