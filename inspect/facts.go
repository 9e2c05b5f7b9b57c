package inspect

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// askTime bounds how long one server is asked before it counts as away.
const askTime = 5 * time.Second

// facts are what was found of an id, without any judgement. Where a server was
// away, what it knows is missing.
type facts struct {
	ID        string
	CLI       string // redis-cli with what reaches this Redis
	Keys      scripts.Keys
	Limits    config.Limits
	Now       time.Time // by Redis's clock; this machine's where Redis is away
	RedisErr  error
	RecordErr error
	Record    *engine.Record // nil: no such row
	Report    *report.Report // of the record, or else of the state; nil: not in the configuration
	State     *scripts.State // nil: none
	StateErr  error          // the key of the state is something else
	FoldLease time.Time      // until when fan-in is its worker's; zero: no worker has it
	Delayed   []Delayed      // the id's members of the delayed set, by due time
	Running   int64          // jobs, in all processes
	Memory    int            // percent of what Redis may use
	Jobs      queue
	Queues    map[string]queue // by step: open listeners, or scripts.StepFanIn
	Sources   map[string]error // databases and APIs of the open listeners; nil: it answers from here
	Seen      scripts.Seen     // which definitions processes have
	Paused    scripts.Pauses   // listeners and reports, with since when
	Dead      time.Time        // since when it is listed as dead; zero: it is not
	Aside     *aside           // nil: not in the part of the quarantine that was searched
	AsideAll  bool             // all of the quarantine was searched
}

// aside is an entry of the quarantine.
type aside struct {
	At     time.Time
	Stream string
	Reason string
}

// gather asks Redis, the records' database and the databases of the listeners
// that a job waits for. A server that is away is a fact, too.
func (in *Inspector) gather(ctx context.Context, id string) facts {
	f := facts{
		ID: id, CLI: redisCLI(in.redis.Options()), Keys: in.scripts.Keys, Limits: in.config.Limits, Now: time.Now(),
		Queues: map[string]queue{}, Sources: map[string]error{},
	}
	f.Record, f.RecordErr = in.askRecord(ctx, id)
	if f.Record != nil {
		f.Report = in.config.Reports[f.Record.Report]
	}
	redisCtx, cancel := context.WithTimeout(ctx, 2*askTime)
	defer cancel()
	if f.RedisErr = in.askRedis(redisCtx, &f); f.RedisErr != nil {
		return f
	}
	for _, name := range f.openSources() {
		f.Sources[name] = in.Reach(ctx, name)
	}
	return f
}

func (in *Inspector) askRecord(ctx context.Context, id string) (*engine.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	records, err := in.records.Read(ctx, []string{id})
	if r, ok := records[id]; ok && err == nil {
		return &r, nil
	}
	return nil, err
}

// askSource connects to a database or an API. Other sources are not asked.
func (in *Inspector) Reach(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	if db := in.databases[name]; db != nil {
		return db.PingContext(ctx)
	}
	if api := in.apis[name]; api != nil {
		return api.Connect(ctx)
	}
	return nil
}

// askRedis fills in what Redis knows.
func (in *Inspector) askRedis(ctx context.Context, f *facts) error {
	now, err := in.redis.Time(ctx).Result()
	if err != nil {
		return err
	}
	f.Now = now
	f.State, err = in.scripts.Read(ctx, f.ID)
	switch {
	case errors.Is(err, scripts.ErrBroken), redis.HasErrorPrefix(err, "WRONGTYPE"):
		f.StateErr = err
	case err != nil && !errors.Is(err, scripts.ErrNoJob):
		return err
	}
	if f.Report == nil && f.State != nil {
		f.Report = in.config.Reports[f.State.Report]
	}
	if f.Seen, err = in.scripts.Seen(ctx); err != nil {
		return err
	}
	if f.Delayed, err = in.membersOf(ctx, f); err != nil {
		return err
	}
	if f.Running, err = in.scripts.Running(ctx); err != nil {
		return err
	}
	if f.Memory, err = in.scripts.MemoryUsed(ctx); err != nil {
		return err
	}
	if f.Paused, err = in.scripts.Paused(ctx); err != nil {
		return err
	}
	if at, err := in.redis.ZScore(ctx, in.scripts.Dead(), f.ID).Result(); err == nil {
		f.Dead = time.UnixMilli(int64(at))
	} else if !errors.Is(err, redis.Nil) {
		return err
	}
	if f.Jobs, err = in.askQueue(ctx, in.scripts.Jobs(), f.ID, 0); err != nil {
		return err
	}
	for _, step := range f.openSteps() {
		key := in.scripts.Task(step)
		if step == scripts.StepFanIn {
			key = in.scripts.FanIn()
		}
		if f.Queues[step], err = in.askQueue(ctx, key, f.ID, f.State.Attempt); err != nil {
			return err
		}
		f.addLease(step)
	}
	if f.Record == nil || !f.Record.Status.Final() {
		f.Aside, f.AsideAll, err = in.searchQuarantine(ctx, f.ID)
	}
	return err
}

// addLease adds what the pending list of a step's stream says: whose it is, and until when.
// The state only has an owner once a step was taken over.
func (f *facts) addLease(step string) {
	entry := f.Queues[step].Entry
	if entry == nil || entry.Consumer == "" {
		return
	}
	until := f.Now.Add(f.Limits.Lease - entry.Idle)
	if step == scripts.StepFanIn {
		f.FoldLease, f.State.Worker = until, cmp.Or(f.State.Worker, entry.Consumer)
		f.State.Fold.Tries = max(f.State.Fold.Tries, 1)
		return
	}
	t := f.State.Tasks[step]
	if l := f.listener(step); l != nil && l.Kind == report.External || !t.Lease.IsZero() {
		return // its service says by replies that it has the task
	}
	t.Owner, t.Lease, t.Tries = cmp.Or(t.Owner, entry.Consumer), until, max(t.Tries, 1)
	if t.Taken.IsZero() {
		t.Taken = entryTime(entry.ID)
	}
	f.State.Tasks[step] = t
}

// openSteps are what a state waits for: listeners that are not done, or fan-in.
func (f *facts) openSteps() []string {
	if f.State == nil {
		return nil
	}
	switch f.State.Status {
	case scripts.StatusRun:
		var open []string
		for _, l := range f.State.Listeners {
			if !f.State.Tasks[l].Done {
				open = append(open, l)
			}
		}
		return open
	case scripts.StatusReady, scripts.StatusFold, scripts.StatusPublishing, scripts.StatusFailing:
		return []string{scripts.StepFanIn}
	}
	return nil
}

// definition is the report that the state was started with; nil where this
// configuration has another one, or none.
func (f *facts) definition() *report.Report {
	if f.Report != nil && f.State != nil && f.Report.Hash() == f.State.Definition {
		return f.Report
	}
	return nil
}

// listener is the definition of a listener of the state; nil where it is not
// known here.
func (f *facts) listener(name string) *report.Listener {
	if r := f.definition(); r != nil {
		if l, _, ok := r.Listener(name); ok {
			return l
		}
	}
	return nil
}

// openSources are those of the listeners that are not done.
func (f *facts) openSources() []string {
	var names []string
	for _, step := range f.openSteps() {
		if l := f.listener(step); l != nil && l.Source != "" {
			names = append(names, l.Source)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// membersOf looks for the members of the delayed set that an id can have now. It
// asks for each by name, since the set can be large.
func (in *Inspector) membersOf(ctx context.Context, f *facts) ([]Delayed, error) {
	members := BeforeStart(f.ID)
	if f.State != nil {
		for _, step := range append([]string{scripts.StepFanIn, scripts.StepRecord}, f.State.Listeners...) {
			members = append(members, scripts.Later{ID: f.ID, Attempt: f.State.Attempt, Step: step}.String())
		}
	}
	cmds, err := in.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, m := range members {
			p.ZScore(ctx, in.scripts.Delayed(), m)
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	var found []Delayed
	for i, c := range cmds {
		if score, err := c.(*redis.FloatCmd).Result(); err == nil {
			found = append(found, NewDelayed(members[i], score, f.Now))
		} else if !errors.Is(err, redis.Nil) {
			return nil, err
		}
	}
	return found, nil
}

// searchQuarantine looks for an id among the newest entries of the quarantine,
// and tells whether it saw all of them.
func (in *Inspector) searchQuarantine(ctx context.Context, id string) (*aside, bool, error) {
	const page, pages = 1000, 12
	end := "+"
	for range pages {
		entries, err := in.redis.XRevRangeN(ctx, in.scripts.Quarantined(), end, "-", page).Result()
		if err != nil {
			return nil, false, err
		}
		for _, m := range entries {
			text, _ := m.Values["fields"].(string)
			if !mentions(text, id) {
				continue
			}
			a := &aside{At: entryTime(m.ID)}
			a.Stream, _ = m.Values["stream"].(string)
			a.Reason, _ = m.Values["reason"].(string)
			return a, true, nil
		}
		if len(entries) < page {
			return nil, true, nil
		}
		end = "(" + entries[len(entries)-1].ID
	}
	return nil, false, nil
}

// delayedStep is the member of the delayed set that brings a step back; nil where
// there is none.
func (f *facts) delayedStep(step string) *Delayed {
	for i, d := range f.Delayed {
		if d.later.Step == step || step == scripts.StepFanIn && d.later.Step == scripts.StepRecord {
			return &f.Delayed[i]
		}
	}
	return nil
}

// next is when a step's next try comes: as its member says, which people can
// change, or else as the state says.
func (f *facts) next(step string, state time.Time) time.Time {
	if d := f.delayedStep(step); d != nil && d.Due != nil {
		return *d.Due
	}
	return state
}
