package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fanfold/fanfold/engine/trigger"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/redisdb"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// askTime is the timeout after which a server counts as away.
const askTime = 5 * time.Second

// facts are what is known about an id, without any judgement. If a server is away, its facts
// are missing.
type facts struct {
	ID         string
	CLI        string // redis-cli with the options that reach this Redis
	Keys       *scripts.Keys
	Limits     report.Limits
	Now        time.Time // of Redis, or of this machine if Redis is away
	RedisErr   error
	RecordErr  error
	Record     *engine.Record // nil: no such row
	Report     *report.Report // of the record or the job; nil: not in the configuration
	Job        *jobState      // nil: Redis has no state
	JobErr     error          // the key of the state contains something else
	Delayed    []Delayed      // the id's members of the delayed set, by due time
	Running    int64          // jobs, in all processes
	Memory     int            // percent of what Redis may use
	Contender  bool           // it competes for a full Redis
	Limited    bool           // it waits until a job of its report ends
	Jobs       queue
	Queues     map[string]queue            // by open step
	Sources    map[string]error            // databases and APIs of the open listeners; nil: it answers
	Bounds     map[string]report.Source    // of the listeners, with their limits
	Holders    map[string][]scripts.Holder // tasks that have a slot, by source with a limit
	Seen       scripts.Seen                // which definitions processes have
	Paused     scripts.Pauses              // listeners and reports, with the start of the pause
	Dead       time.Time                   // when it was listed as dead; zero: it is not listed
	Aside      *Quarantined                // nil: not in the searched part of the quarantine
	AsideWhole bool                        // the whole quarantine was searched
}

// gather asks Redis, the record database, and the sources of the listeners that a job waits for.
// A server that is away is a fact, too.
func gather(ctx context.Context, in *Inspector, id string) *facts {
	s := in.o.Scripts.Of(id)
	server, _ := once(in, "server "+s.Keys.Prefix, func() (redis.Options, error) {
		ctx, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		return redisdb.Server(ctx, in.o.Config.Redis, in.o.Redis, s.Keys.Job(id)), nil
	})
	f := &facts{
		ID: id, CLI: redisCLI(server), Keys: s.Keys, Limits: in.o.Config.Limits.Share(len(in.o.Scripts)), Now: time.Now(),
		Queues: map[string]queue{}, Sources: map[string]error{}, Bounds: in.o.Config.Bounds,
	}
	f.Record, f.RecordErr = askRecord(ctx, in, id)
	if f.Record != nil {
		f.Report = in.o.Config.Reports[f.Record.Report]
	}
	redisCtx, cancel := context.WithTimeout(ctx, askTime)
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

// Reach connects to a database or an API, and returns the error if it cannot. For any other source
// it returns nil.
func (in *Inspector) Reach(ctx context.Context, source string) error {
	_, err := once(in, "source "+source, func() (struct{}, error) { return struct{}{}, in.reach(ctx, source) })
	return err
}

func (in *Inspector) reach(ctx context.Context, source string) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	if s := in.o.Sources[source]; s != nil {
		return s.Reach(ctx)
	}
	return nil
}

// askRedis collects the facts in Redis.
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
	f.Memory, errs[3] = once(in, "memory"+of, func() (int, error) {
		usage, err := s.Memory.Usage(ctx)
		return usage.Percent(), err
	})
	f.Paused, errs[4] = once(in, "pauses"+of, func() (scripts.Pauses, error) { return s.Gate.Paused(ctx) })
	if err := cmp.Or(errs[:]...); err != nil {
		return err
	}
	if f.runs() {
		return f.askSteps(ctx, in)
	}
	contenders, err := once(in, "contenders"+of, func() (map[string]time.Time, error) { return s.Memory.Contenders(ctx) })
	if err != nil {
		return err
	}
	_, f.Contender = contenders[f.ID]
	if r := f.Report; r != nil && r.Running > 0 {
		if err := in.o.Redis.ZScore(ctx, s.Keys.Waiting(r.Name), f.ID).Err(); err != nil && !errors.Is(err, redis.Nil) {
			return err
		} else if err == nil {
			f.Limited = true
		}
	}
	if f.Record != nil && !f.Record.Status.Final() && f.Report != nil {
		if err := f.askTypes(ctx, in); err != nil {
			return err
		}
	}
	if at, err := in.o.Redis.ZScore(ctx, s.Keys.Dead, f.ID).Result(); err == nil {
		f.Dead = time.UnixMilli(int64(at))
	} else if !errors.Is(err, redis.Nil) {
		return err
	}
	if f.Jobs, err = in.queue(ctx, s.Keys.Jobs, f.ID, 0); err != nil {
		return err
	}
	if f.Record == nil || !f.Record.Status.Final() {
		f.Aside, f.AsideWhole, err = searchQuarantine(ctx, in.o.Redis, s.Keys.Quarantined, f.ID)
		if f.Aside != nil {
			f.Aside.Entry = in.entryName(s, f.Aside.Entry)
		}
	}
	return err
}

// askTypes returns an error if a key that the start of the job needs has another type.
func (f *facts) askTypes(ctx context.Context, in *Inspector) error {
	_, err := once(in, "types of "+f.Keys.Prefix+" "+f.Report.Name, func() (struct{}, error) {
		keys := []string{f.Keys.Deadlines, f.Keys.Events}
		if len(f.Report.Stages) > 0 {
			for _, l := range f.Report.Stages[0].Listeners {
				keys = append(keys, f.Keys.Task(l.Name))
			}
		}
		found := make([]*redis.StatusCmd, len(keys))
		_, err := in.o.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, key := range keys {
				found[i] = p.Type(ctx, key)
			}
			return nil
		})
		for i, key := range keys {
			if is, want := found[i].Val(), f.Keys.Type(key); is != "" && is != "none" && is != want {
				return struct{}{}, wrongType(fmt.Sprintf("the key %s is a %s, not a %s: inspect it with redis-cli TYPE %s", key, is, want, shell(key)))
			}
		}
		return struct{}{}, err
	})
	return err
}

// wrongType is the error of a key with another type, which Redis would answer to a command.
type wrongType string

func (w wrongType) Error() string { return "WRONGTYPE " + string(w) }
func (w wrongType) RedisError()   {}

// askSteps finds the stream entries of the open steps of a job, and who has the slots of their sources.
func (f *facts) askSteps(ctx context.Context, in *Inspector) (err error) {
	f.Holders, err = once(in, "slots", func() (map[string][]scripts.Holder, error) {
		return in.Holders(ctx)
	})
	if err != nil {
		return err
	}
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

// parallel returns the names of the sources that limit their tasks, sorted.
func (in *Inspector) parallel() []string {
	var names []string
	for name, b := range in.o.Config.Bounds {
		if b.Parallel > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// askDelayed finds the members of the delayed set that belong to an id. It asks for every possible
// member by name, because the set can be large.
func (f *facts) askDelayed(ctx context.Context, s *scripts.Scripts) ([]Delayed, error) {
	members := trigger.BeforeStart(f.ID)
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
	scores, err := s.Sets.Scores(ctx, f.Keys.Delayed, members)
	var found []Delayed
	for _, m := range members {
		if score, ok := scores[m]; ok {
			found = append(found, NewDelayed(m, score, f.Now))
		}
	}
	return found, err
}

// open returns the steps that the job waits for.
func (f *facts) open() []part {
	if f.Job == nil {
		return nil
	}
	return f.Job.open()
}

// streams returns the keys of the streams that can contain the message of a step.
func (f *facts) streams(step string) []string {
	if step == job.StepFanIn {
		return []string{f.Keys.FanInLarge, f.Keys.FanIn}
	}
	return []string{f.Keys.Task(step)}
}

// definition returns the report that the job was started with; nil if this configuration has
// another definition of it, or none.
func (f *facts) definition() *report.Report {
	if f.Job != nil && f.Job.of(f.Report) {
		return f.Report
	}
	return nil
}

// listenerOf returns the definition of a listener of the job; nil if it is not known here.
func (f *facts) listenerOf(name string) *report.Listener {
	if r := f.definition(); r != nil {
		if l, _, ok := r.Listener(name); ok {
			return l
		}
	}
	return nil
}

// openSources returns the sources of the open listeners.
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

// orphan reports whether processes run, and none has the definition of the job.
func (f *facts) orphan() bool {
	return f.Job != nil && f.Now.Before(f.Job.Deadline) && f.Job.orphan(f.Report, f.Seen)
}

// retry returns the member of the delayed set that retries a step; nil if none exists.
func (f *facts) retry(step string) *Delayed {
	return f.member(func(of string) bool { return of == step || step == job.StepFanIn && of == job.StepRecord })
}

// push returns the member of the delayed set that pushes the id or polls its record; nil if none
// exists.
func (f *facts) push() *Delayed {
	return f.member(func(of string) bool { return of == "" || of == job.StepTrigger })
}

func (f *facts) member(is func(step string) bool) *Delayed {
	if i := slices.IndexFunc(f.Delayed, func(d Delayed) bool { return is(d.later.Step) }); i >= 0 {
		return &f.Delayed[i]
	}
	return nil
}

// silence is after how long without a sign a consumer counts as gone. A live one polls every
// second, or renews its lease three times before it ends.
func (f *facts) silence() time.Duration { return max(f.Limits.Lease, 3*time.Second) }

// live returns the number of live consumers of a stream.
func (f *facts) live(q queue) (n int) {
	for _, c := range q.Consumers {
		if c.Idle < f.silence() {
			n++
		}
	}
	return n
}
