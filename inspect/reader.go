package inspect

import (
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Reader describes the processes that read a stream.
type Reader struct {
	Listener string        // whose tasks the stream has; empty: entries of all jobs
	External bool          // services read it, not processes of Fanfold
	Silence  time.Duration // after which a busy one counts as dead
}

// Maximum time between two polls of an idle reader.
const (
	ourPolls     = 3 * time.Second
	servicePolls = 10 * time.Second // docs/guides/external-listeners.md lets a service wait for 5 seconds
)

// Readers returns the readers of a partition's streams, by key.
func (c Config) Readers(k *scripts.Keys) map[string]Reader {
	ours := Reader{Silence: c.Limits.Lease}
	all := map[string]Reader{k.Jobs: ours, k.FanIn: ours, k.FanInLarge: ours, k.Fired: ours, k.Finished: ours}
	if c.Limits.Lanes != nil {
		all[k.Next] = ours
	}
	for _, r := range c.Reports {
		for _, l := range r.Listeners() {
			key := k.Task(l.Name)
			if l.Kind == report.External {
				all[key] = Reader{l.Name, true, max(all[key].Silence, l.Silence)}
				all[k.Reply] = ours
			} else {
				all[key] = Reader{l.Name, false, ours.Silence}
			}
		}
	}
	return all
}

// Alive reports whether a consumer waits for entries or works on one.
func (r Reader) Alive(c scripts.Consumer) bool {
	polls := ourPolls
	if r.External {
		polls = servicePolls
	}
	return c.Idle < polls || c.Pending > 0 && c.Idle < r.Silence
}
