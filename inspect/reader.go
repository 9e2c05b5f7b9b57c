package inspect

import (
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
)

// reader is what reads a stream.
type reader struct {
	name    string        // what an operator starts
	polls   time.Duration // it polls more often than that, unless it works
	silence time.Duration // after which one that works is considered dead
}

// servicePolls is how often a service polls at least: docs/external.md has it wait for 5 seconds.
const servicePolls = 10 * time.Second

// ourReader is a process of Fanfold.
func (in *Inspector) ourReader() reader {
	return reader{"fanfold serve", unreadAfter, in.o.Config.Limits.Lease}
}

// readers are those of the listeners, by their names.
func (in *Inspector) readers() map[string]reader {
	all := map[string]reader{}
	for _, r := range in.o.Config.Reports {
		for _, l := range r.Listeners() {
			if l.Kind == report.External {
				all[l.Name] = reader{"the service of this listener", servicePolls, max(all[l.Name].silence, l.Silence)}
			} else {
				all[l.Name] = in.ourReader()
			}
		}
	}
	return all
}

// alive tells whether a consumer waits for entries or works on one.
func (r reader) alive(c redis.XInfoConsumer) bool {
	return c.Idle < r.polls || c.Pending > 0 && c.Idle < r.silence
}
