package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Protect says how busy a database may be when a query of a listener begins on it. A limit of 0 is none.
type Protect struct {
	// Maximum number of statements that the server executes, those of Fanfold included
	ThreadsRunning int `yaml:"threads_running" min:"1" max:"1000000" unset:"no limit"`
	// Maximum lag of the replica: of `replica`, or else of a database that is one itself
	ReplicaLag time.Duration `yaml:"replica_lag" min:"1s" unset:"no limit"`
	// Maximum of the time for which the statements of other users have been running, of which the longest 5 percent do
	// not count
	StatementP95 time.Duration `yaml:"statement_p95" min:"100ms" unset:"no limit"`
}

// Measure is what Protect limits, by its name in the configuration.
type Measure string

// The measures.
const (
	ThreadsRunning Measure = "threads_running"
	ReplicaLag     Measure = "replica_lag"
	StatementP95   Measure = "statement_p95"
)

// Health is how busy a server is. It has the measures that a Protect limits.
type Health struct {
	ThreadsRunning int           `json:"threads_running,omitempty"` // without the one that measures
	ReplicaLag     time.Duration `json:"replica_lag,omitempty"`     // Stopped: replication does not run
	StatementP95   time.Duration `json:"statement_p95,omitempty"`
}

// Stopped is the lag of a replica whose replication does not run.
const Stopped time.Duration = math.MaxInt64

// Reading is a measure as people read it.
type Reading struct {
	Measure Measure
	Text    string // such as "57 threads run"
	Limit   string // as in the configuration
	Above   bool   // the limit
}

// Read returns the measures that p limits.
func (p Protect) Read(h Health) (all []Reading) {
	if p.ThreadsRunning > 0 {
		text := fmt.Sprintf("%d threads run", h.ThreadsRunning)
		if h.ThreadsRunning == 1 {
			text = "1 thread runs"
		}
		above := h.ThreadsRunning > p.ThreadsRunning
		all = append(all, Reading{ThreadsRunning, text, fmt.Sprint(p.ThreadsRunning), above})
	}
	if p.ReplicaLag > 0 {
		text := "the replica is " + ShortDuration(h.ReplicaLag.Truncate(time.Millisecond)) + " behind"
		if h.ReplicaLag == Stopped {
			text = "replication is stopped"
		}
		all = append(all, Reading{ReplicaLag, text, ShortDuration(p.ReplicaLag), h.ReplicaLag > p.ReplicaLag})
	}
	if p.StatementP95 > 0 {
		text := fmt.Sprintf("the statements of others run for %s (p95)",
			ShortDuration(h.StatementP95.Truncate(time.Millisecond)))
		all = append(all, Reading{StatementP95, text, ShortDuration(p.StatementP95), h.StatementP95 > p.StatementP95})
	}
	return all
}

// Busy returns the first measure that is above its limit; false: none is.
func (p Protect) Busy(h Health) (Reading, bool) {
	all := p.Read(h)
	i := slices.IndexFunc(all, func(r Reading) bool { return r.Above })
	if i < 0 {
		return Reading{}, false
	}
	return all[i], true
}

// Room returns how many queries may begin before threads_running is above its limit, at least 0; false: it has none.
func (p Protect) Room(h Health) (room int, limited bool) {
	return max(0, p.ThreadsRunning+1-h.ThreadsRunning), p.ThreadsRunning > 0
}

// Given reports whether p limits anything.
func (p Protect) Given() bool { return p != Protect{} }

// P95 returns the 95th percentile of durations, which it sorts: the least one that at least 95 percent do not exceed;
// 0 of none.
func P95(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[(len(all)*95+99)/100-1]
}

const replica = ".replica" // no name of a database has a dot

// ReplicaOf returns the name of the source that is the replica of a database: that of its field in the configuration,
// below databases.
func ReplicaOf(database string) string { return database + replica }

// DatabaseOf returns the name of a source, or of the database whose replica it is.
func DatabaseOf(source string) string { return strings.TrimSuffix(source, replica) }

// Servers returns the database as its listeners use it: the primary, or with a replica that beside it.
func (d Database) Servers() []Database {
	if d.Replica == "" {
		return []Database{d}
	}
	beside := d
	beside.Name, beside.DSN, beside.Replica = ReplicaOf(d.Name), d.Replica, ""
	d.Protect.ReplicaLag = 0
	return []Database{d, beside}
}

// ReadFrom is the server of a database that a listener reads.
type ReadFrom string

// The values of ReadFrom.
const (
	FromPrimary ReadFrom = "primary"
	FromReplica ReadFrom = "replica"
)
