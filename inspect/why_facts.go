package inspect

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/redisdb"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// askTime bounds how long one server is asked before it counts as away.
const askTime = 5 * time.Second

// facts are what was found of an id, without any judgement. Where a server was
// away, what it knows is missing.
type facts struct {
	ID         string
	CLI        string // redis-cli with what reaches this Redis
	Keys       scripts.Keys
	Limits     report.Limits
	Now        time.Time // by Redis's clock; this machine's where Redis is away
	RedisErr   error
	RecordErr  error
	Record     *engine.Record // nil: no such row
	Report     *report.Report // of the record, or else of the job; nil: not in the configuration
	Job        *jobState      // nil: Redis has no state of one
	JobErr     error          // the key of the state holds something else
	Delayed    []Delayed      // the id's members of the delayed set, by due time
	Running    int64          // jobs, in all processes
	Memory     int            // percent of what Redis may use
	Jobs       queue
	Queues     map[string]queue // by step that is not done
	Sources    map[string]error // databases and APIs of the open listeners; nil: it answers from here
	Seen       scripts.Seen     // which definitions processes have
	Paused     scripts.Pauses   // listeners and reports, with since when
	Dead       time.Time        // since when it is listed as dead; zero: it is not
	Aside      *Quarantined     // nil: not in the part of the quarantine that was searched
	AsideWhole bool             // all of the quarantine was searched
}

// gather asks Redis, the records' database and the databases of the listeners
// that a job waits for. A server that is away is a fact, too.
func gather(ctx context.Context, in *Inspector, id string) *facts {
	s := in.o.Scripts.Of(id)
	server, _ := once(in, "server "+s.Keys.Prefix, func() (redis.Options, error) {
		ctx, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		return redisdb.Server(ctx, in.o.Config.Redis, in.o.Redis, s.Keys.Job(id)), nil
	})
	f := &facts{
		ID: id, CLI: redisCLI(server), Keys: s.Keys, Limits: in.o.Config.Limits.Share(len(in.o.Scripts)), Now: time.Now(),
		Queues: map[string]queue{}, Sources: map[string]error{},
	}
	f.Record, f.RecordErr = askRecord(ctx, in, id)
	if f.Record != nil {
		f.Report = in.o.Config.Reports[f.Record.Report]
	}
	redisCtx, cancel := context.WithTimeout(ctx, 2*askTime)
	defer cancel()
	if f.RedisErr = f.askRedis(redisCtx, in); f.RedisErr != nil {
		return f
	}
	for _, name := range f.openSources() {
		f.Sources[name] = in.Reach(ctx, name)
	}
	return f
}

func askRecord(ctx context.Context, in *Inspector, id string) (*engine.Record, error) {
	ids := []string{id}
	if in.batch != nil {
		ids = in.batch.ids
	}
	records, err := once(in, "records", func() (map[string]engine.Record, error) {
		ctx, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		return in.o.Records.Read(ctx, ids)
	})
	if r, ok := records[id]; ok && err == nil {
		return &r, nil
	}
	return nil, err
}

// Reach connects to a database or an API, and returns why that is not possible. Other
// sources are not asked.
func (in *Inspector) Reach(ctx context.Context, source string) error {
	_, err := once(in, "source "+source, func() (struct{}, error) { return struct{}{}, in.reach(ctx, source) })
	return err
}

func (in *Inspector) reach(ctx context.Context, source string) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	if db := in.o.Databases[source]; db != nil {
		return db.PingContext(ctx)
	}
	if api := in.o.APIs[source]; api != nil {
		return api.Connect(ctx)
	}
	return nil
}

// askRedis fills in what Redis knows.
func (f *facts) askRedis(ctx context.Context, in *Inspector) (err error) {
	s := in.o.Scripts.Of(f.ID)
	if f.Now, err = s.Now(ctx); err != nil {
		f.Now = time.Now()
		return err
	}
	if f.Job, err = readJob(ctx, s, f.ID); errors.Is(err, errBrokenState) {
		f.JobErr = err
	} else if err != nil {
		return err
	}
	if f.Job != nil && f.Report == nil {
		f.Report = in.o.Config.Reports[f.Job.Report]
	}
	var errs [5]error
	of := " of " + s.Keys.Prefix
	f.Seen, errs[0] = once(in, "definitions"+of, func() (scripts.Seen, error) { return s.Definitions.Seen(ctx) })
	f.Delayed, errs[1] = f.askDelayed(ctx, s)
	f.Running, errs[2] = once(in, "running"+of, func() (int64, error) { return s.Jobs.Running(ctx) })
	f.Memory, errs[3] = once(in, "memory"+of, func() (int, error) { return s.MemoryUsed(ctx) })
	f.Paused, errs[4] = once(in, "pauses"+of, func() (scripts.Pauses, error) { return s.Gate.Paused(ctx) })
	if err := cmp.Or(errs[:]...); err != nil {
		return err
	}
	if f.runs() {
		return f.askSteps(ctx, in)
	}
	if at, err := in.o.Redis.ZScore(ctx, s.Keys.Dead(), f.ID).Result(); err == nil {
		f.Dead = time.UnixMilli(int64(at))
	} else if !errors.Is(err, redis.Nil) {
		return err
	}
	if f.Jobs, err = in.queue(ctx, s.Keys.Jobs(), f.ID, 0); err != nil {
		return err
	}
	if f.Record == nil || !f.Record.Status.Final() {
		f.Aside, f.AsideWhole, err = searchQuarantine(ctx, in.o.Redis, s.Keys.Quarantined(), f.ID)
	}
	return err
}

// askSteps finds the entries of the steps that a job waits for.
func (f *facts) askSteps(ctx context.Context, in *Inspector) error {
	for _, p := range f.open() {
		for _, stream := range f.streams(p.Name) {
			q, err := in.queue(ctx, stream, f.ID, f.Job.Attempt)
			if err != nil {
				return err
			}
			if f.Queues[p.Name] = q; q.Entry != nil {
				break
			}
		}
	}
	return nil
}

// askDelayed finds the members of the delayed set that an id can have now. It asks for
// each by name, since the set can be large.
func (f *facts) askDelayed(ctx context.Context, s *scripts.Scripts) ([]Delayed, error) {
	members := engine.BeforeStart(f.ID)
	if f.Job != nil {
		steps := []string{job.StepFanIn, job.StepRecord}
		for _, p := range f.Job.open() {
			if p.Name != job.StepFanIn {
				steps = append(steps, p.Name)
			}
		}
		for _, step := range steps {
			members = append(members, job.Later{ID: f.ID, Attempt: f.Job.Attempt, Step: step}.String())
		}
	}
	scores, err := s.Epoch.Scores(ctx, f.Keys.Delayed(), members)
	var found []Delayed
	for _, m := range members {
		if score, ok := scores[m]; ok {
			found = append(found, NewDelayed(m, score, f.Now))
		}
	}
	return found, err
}

// open are the steps that the job waits for.
func (f *facts) open() []part {
	if f.Job == nil {
		return nil
	}
	return f.Job.open()
}

// streams are where the messages of a step go.
func (f *facts) streams(step string) []string {
	if step == job.StepFanIn {
		return []string{f.Keys.FanInLarge(), f.Keys.FanIn()}
	}
	return []string{f.Keys.Task(step)}
}

// definition is the report that the job was started with; nil where this
// configuration has another one, or none.
func (f *facts) definition() *report.Report {
	if f.Job != nil && f.Job.of(f.Report) {
		return f.Report
	}
	return nil
}

// listenerOf is the definition of a listener of the job; nil where it is not known here.
func (f *facts) listenerOf(name string) *report.Listener {
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
	for _, p := range f.open() {
		if l := f.listenerOf(p.Name); l != nil && l.Source != "" {
			names = append(names, l.Source)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// orphan tells whether no process has the definition of the job, although some run.
func (f *facts) orphan() bool {
	return f.Job != nil && f.Now.Before(f.Job.Deadline) && f.Job.orphan(f.Report, f.Seen)
}

// retry is the member of the delayed set that brings a step back; nil where there is none.
func (f *facts) retry(step string) *Delayed {
	return f.member(func(of string) bool { return of == step || step == job.StepFanIn && of == job.StepRecord })
}

// push is the member of the delayed set by which the id is pushed, or its record looked
// up again; nil where there is none.
func (f *facts) push() *Delayed {
	return f.member(func(of string) bool { return of == "" || of == job.StepTrigger })
}

func (f *facts) member(is func(step string) bool) *Delayed {
	if i := slices.IndexFunc(f.Delayed, func(d Delayed) bool { return is(d.later.Step) }); i >= 0 {
		return &f.Delayed[i]
	}
	return nil
}

// silence is how long a consumer says nothing before it counts as gone: it asks
// every second, or renews what it works on three times in a lease.
func (f *facts) silence() time.Duration { return max(f.Limits.Lease, 3*time.Second) }

// live is how many consumers read a stream.
func (f *facts) live(q queue) int { return q.live(f.silence()) }
