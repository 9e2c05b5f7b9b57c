package scripts

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold/internal/aged"
	"github.com/fanfold/fanfold/internal/group"
	"github.com/fanfold/fanfold/report"
	"github.com/redis/go-redis/v9"
)

// Options configures Scripts.
type Options struct {
	// Redis runs the scripts. It must not be the client of blocking reads: those
	// would use up its connections.
	Redis redis.UniversalClient
	// Blocking is for reads that block; nil means Redis.
	Blocking redis.UniversalClient
	// Keys names the keys of the partition; the zero value means report.DefaultKeys.
	Keys report.Keys
	// Shared names those that all partitions share: which processes run, which definitions they
	// have, and the limits of sources. The zero value means Keys.
	Shared report.Keys
	// EventsCap is about how many events the events stream keeps; 0 means 100,000.
	EventsCap int64
	// JobBytes is the max size of one job's data; 0 means 1 GiB.
	JobBytes int64
	// SpoolBytes is the max size of one job's segments in the spool; 0 means 64 GB.
	SpoolBytes int64
	// Compress says that datasets are compressed: a job counts as large from an eighth of the
	// bytes on.
	Compress bool
	// Timeout bounds one round trip; 0 means 10 s.
	Timeout time.Duration
	// Sources has the sources of every listener: the deadline of a job that waits for one that is paused moves.
	Sources map[string][]string
	// Lanes has the limits of lanes and classes in this partition; nil: jobs have no lanes.
	Lanes *report.Lanes
}

// Scripts runs Fanfold's Lua scripts, by what they are about. It is safe for concurrent use.
type Scripts struct {
	*conn
	Jobs        Jobs
	Hashes      Hashes
	Tasks       Tasks
	Folds       Folds
	Streams     Streams
	Entries     Entries
	Gate        Gate
	Limits      Limits
	Health      Health
	Lanes       Lanes
	Sets        Sets
	Memory      Memory
	Clock       Clock
	Timers      Timers
	Schedules   Schedules
	Receipts    Receipts
	Definitions Definitions
	Epoch       Epoch
	Once        Once
	Kept        Kept
	Fallbacks   Fallbacks
	Tally       Tally
	Sessions    Sessions
}

type (
	// Jobs starts jobs, reads their states, and ends them from outside.
	Jobs struct{ *conn }
	// Hashes reads single fields of the hashes of jobs.
	Hashes struct{ *conn }
	// Tasks makes the handles of tasks.
	Tasks struct{ *conn }
	// Folds claims jobs that have all of their data, reads that, and ends them.
	Folds struct{ *conn }
	// Streams acknowledges entries, moves them, and finds those that are lost.
	Streams struct{ *conn }
	// Entries reads entries of streams and what is pending.
	Entries struct{ *conn }
	// Gate says what is paused, and holds the ids that wait for a report.
	Gate struct{ *conn }
	// Limits counts what a source or a report may have at once: calls, slots and running jobs.
	Limits struct{ *conn }
	// Health knows how busy the sources are, for all processes together.
	Health struct{ *conn }
	// Lanes gives jobs of lanes and classes fair turns.
	Lanes struct{ *conn }
	// Sets reads and changes members of the sorted sets: delayed, deadlines, timers, pauses and others.
	Sets struct{ *conn }
	// Memory tells how full Redis is, and lets the jobs that compete for it run one after another.
	Memory struct{ *conn }
	// Clock knows what is due: deadlines and delayed members.
	Clock struct{ *conn }
	// Timers sets timers and fires them.
	Timers struct{ *conn }
	// Schedules keeps the timers of reports' schedules, in the first partition, equal to what processes have.
	Schedules struct{ *conn }
	// Receipts tells a service, in the stream that its push names in reply_to, how the push ended.
	Receipts struct{ *conn }
	// Definitions knows which processes have which definitions of reports.
	Definitions struct{ *conn }
	// Epoch tells whether Redis has lost its memory, and brings back what it had.
	Epoch struct{ *conn }
	// Kept reads what jobs that ended without a file have left for their next attempts.
	Kept struct{ *conn }
	// Fallbacks has the last good datasets of listeners, for jobs that cannot read them.
	Fallbacks struct{ *conn }
	// Tally has the counters of what has happened to jobs.
	Tally struct{ *conn }
	// Sessions has what processes share about the sessions of people who have logged in.
	Sessions struct{ *conn }
)

// conn runs scripts on one Redis.
type conn struct {
	Keys      *Keys
	shared    *Keys
	rdb       redis.UniversalClient
	blocking  redis.UniversalClient
	timeout   time.Duration
	events    string // cap, as an argument
	bytes     int64  // max size of a job's data
	spool     int64  // max size of a job's segments
	small     int64  // the same of a job that is not large
	completes *group.Group[*completion]
	holds     aged.Cache[struct{}, Holds]
	sources   map[string][]string // of listeners
	lanes     *laneKeys           // nil: jobs have no lanes
	plain     *atomic.Bool        // the server refuses the first line of scripts
}

// New returns Scripts on a client, which the caller closes.
func New(o Options) *Scripts {
	if o.Keys == (report.Keys{}) {
		o.Keys = report.DefaultKeys
	}
	if o.EventsCap == 0 {
		o.EventsCap = 100_000
	}
	if o.JobBytes == 0 {
		o.JobBytes = 1 << 30
	}
	if o.SpoolBytes == 0 {
		o.SpoolBytes = 64_000_000_000
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Shared == (report.Keys{}) {
		o.Shared = o.Keys
	}
	if o.Blocking == nil {
		o.Blocking = o.Redis
	}
	c := &conn{Keys: NewKeys(o.Keys), shared: NewKeys(o.Shared), rdb: o.Redis, blocking: o.Blocking,
		events: fmt.Sprint(o.EventsCap), bytes: o.JobBytes, spool: o.SpoolBytes, small: MaxSmall,
		timeout: o.Timeout, sources: o.Sources, plain: &atomic.Bool{}}
	c.lanes = newLaneKeys(c.Keys, o.Lanes)
	if o.Compress {
		c.small /= expansion
	}
	c.completes = group.New(maxCompletions, Tasks{c}.completeAll)
	c.holds = aged.Cache[struct{}, Holds]{MaxAge: maxHoldsAge, Timeout: o.Timeout,
		Ask: func(ctx context.Context, _ struct{}) (Holds, error) { return Gate{c}.Holds(ctx) }}
	return &Scripts{c, Jobs{c}, Hashes{c}, Tasks{c}, Folds{c}, Streams{c}, Entries{c}, Gate{c}, Limits{c}, Health{c},
		Lanes{c}, Sets{c}, Memory{c}, Clock{c}, Timers{c}, Schedules{c}, Receipts{c}, Definitions{c}, Epoch{c}, Once{c},
		Kept{c}, Fallbacks{c}, Tally{c}, Sessions{c}}
}

// do runs commands in one round trip, in their order. Every command has its own error; do
// returns only that of ctx. The commands may run although ctx has ended.
func (s *conn) do(ctx context.Context, cmds ...redis.Cmder) error {
	if err := ctx.Err(); err != nil || len(cmds) == 0 {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	if s.Plain() {
		for _, cmd := range cmds {
			if args := cmd.Args(); args[0] == "evalsha" {
				args[1] = hashed[args[1].(string)].plainSHA
			}
		}
	}
	// Every command gets an error, also if the connection failed before it was sent.
	exec := func(cmds []redis.Cmder) {
		if len(cmds) == 1 {
			_ = s.rdb.Process(limited, cmds[0])
			return
		}
		pipe := s.rdb.Pipeline()
		for _, cmd := range cmds {
			_ = pipe.Process(limited, cmd) // queues it; errors come with Exec
		}
		_, _ = pipe.Exec(limited)
	}
	exec(cmds)
	// Redis lost its scripts: it was restarted, or its cache was flushed. Those commands
	// are sent again, in their order, and bring the script along, so that it cannot be
	// missing.
	var again []redis.Cmder
	for _, cmd := range cmds {
		if err := cmd.Err(); err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
			args := cmd.Args()
			script := hashed[args[1].(string)]
			if node, err := s.Node(limited); err == nil && len(again) == 0 {
				_ = s.load(limited, node, script) // finds out whether its first line is refused
			}
			args[0], args[1] = "eval", script.sourceFor(s.Plain())
			again = append(again, cmd)
		}
	}
	if len(again) > 0 {
		exec(again)
	}
	return ctx.Err()
}

// asArgs returns texts as arguments of a command.
func asArgs(texts []string) []any {
	all := make([]any, len(texts))
	for i, t := range texts {
		all[i] = t
	}
	return all
}

// send runs commands in one round trip and returns their first error.
func (s *conn) send(ctx context.Context, cmds ...redis.Cmder) error {
	ended := s.do(ctx, cmds...)
	for _, c := range cmds {
		if err := c.Err(); err != nil {
			return asError(nameOf(c), err)
		}
	}
	return ended
}

// outcome runs a script that answers with an outcome alone.
func (s *conn) outcome(ctx context.Context, c *redis.Cmd) (Outcome, error) {
	if err := s.do(ctx, c); err != nil {
		return 0, err
	}
	n, err := c.Int64()
	return Outcome(n), asError(nameOf(c), err)
}

// batchJobs bounds how many jobs one call of a script is for, and so for how long it keeps
// Redis from other clients.
const batchJobs = 64

// batches runs a script for n jobs in one round trip, at most batchJobs with every call. If
// one call fails, the others have had their effect. The commands after them run in the same round trip; their
// errors are ignored.
func (s *conn) batches(ctx context.Context, n int, batch func(from, to int) *redis.Cmd,
	after ...redis.Cmder) ([]Outcome, error) {
	var cmds []redis.Cmder
	for from := 0; from < n; from += batchJobs {
		cmds = append(cmds, batch(from, min(from+batchJobs, n)))
	}
	if err := s.do(ctx, append(slices.Clip(cmds), after...)...); err != nil {
		return nil, err
	}
	all := make([]Outcome, 0, n)
	for _, c := range cmds {
		outcomes, err := outcomesOf(c, min(batchJobs, n-len(all)))
		if err != nil {
			return nil, err
		}
		all = append(all, outcomes...)
	}
	return all, nil
}

// outcomesOf reads the answer of a script that has an outcome for each of n jobs.
func outcomesOf(c redis.Cmder, n int) ([]Outcome, error) {
	values, err := c.(*redis.Cmd).Int64Slice()
	if err != nil {
		return nil, asError(nameOf(c), err)
	}
	if len(values) != n {
		return nil, fmt.Errorf("%s: %w: %d outcomes for %d jobs", nameOf(c), ErrReply, len(values), n)
	}
	outcomes := make([]Outcome, n)
	for i, v := range values {
		outcomes[i] = Outcome(v)
	}
	return outcomes, nil
}

// list runs a script that answers with an outcome and more.
func (s *conn) list(ctx context.Context, c *redis.Cmd) (Outcome, []any, error) {
	if err := s.do(ctx, c); err != nil {
		return 0, nil, err
	}
	reply, err := c.Slice()
	if err != nil {
		return 0, nil, asError(nameOf(c), err)
	}
	if len(reply) > 0 {
		if n, ok := reply[0].(int64); ok {
			return Outcome(n), reply[1:], nil
		}
	}
	return 0, nil, fmt.Errorf("%s: %w: %v", nameOf(c), ErrReply, reply)
}
