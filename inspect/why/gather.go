package why

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/trigger"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/redisdb"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// askTime is the timeout after which a server counts as away.
const askTime = 5 * time.Second

// gatherer collects the facts of ids.
type gatherer struct {
	*inspect.Inspector
	batch *batch // nil: every job is asked about separately
}

// gather asks Redis, the record database, and the sources of the listeners that a job waits for.
// A server that is away is a fact, too.
func (g *gatherer) gather(ctx context.Context, id string) *facts {
	o := g.Options
	s := o.Scripts.Of(id)
	server, _ := once(g, "server "+s.Keys.Prefix, func() (redisdb.Where, error) {
		ctx, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		return s.Where(ctx, o.Config.Redis), nil
	})
	f := &facts{
		ID:      id,
		CLI:     redisCLI(server),
		Keys:    s.Keys,
		Limits:  o.Config.Limits.Share(len(o.Scripts)),
		Now:     time.Now(),
		Queues:  map[string]queue{},
		Away:    map[string]error{},
		Sources: o.Config.Sources,
	}
	f.Record, f.RecordErr = g.record(ctx, id)
	if f.Record != nil {
		f.Report = o.Config.Reports[f.Record.Report]
	}
	redisCtx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	if f.RedisErr = g.redis(redisCtx, s, f); f.RedisErr != nil {
		return f
	}
	for _, name := range f.openSources() {
		_, f.Away[name] = once(g, "source "+name, func() (struct{}, error) {
			return struct{}{}, o.Sources.Reach(ctx, name)
		})
	}
	return f
}

func (g *gatherer) record(ctx context.Context, id string) (*engine.Record, error) {
	ids := []string{id}
	if g.batch != nil {
		ids = g.batch.ids
	}
	records, err := once(g, "records", func() (map[string]engine.Record, error) {
		ctx, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		return g.Records.Read(ctx, ids)
	})
	if r, ok := records[id]; ok && err == nil {
		return &r, nil
	}
	return nil, err
}

// redis collects the facts in Redis.
func (g *gatherer) redis(ctx context.Context, s *scripts.Scripts, f *facts) (err error) {
	if f.Now, err = s.Now(ctx); err != nil {
		f.Now = time.Now()
		return err
	}
	if f.Job, err = g.Jobs.State(ctx, f.ID); errors.Is(err, inspect.ErrBrokenState) {
		f.JobErr = err
	} else if err != nil {
		return err
	}
	if f.Job != nil && f.Report == nil {
		f.Report = g.Config.Reports[f.Job.Report]
	}
	var errs [5]error
	of := " of " + s.Keys.Prefix
	f.Seen, errs[0] = once(g, "definitions"+of, func() (scripts.Seen, error) { return s.Definitions.Seen(ctx) })
	f.Delayed, errs[1] = g.delayed(ctx, s, f)
	f.Running, errs[2] = once(g, "running"+of, func() (int64, error) { return s.Jobs.Running(ctx) })
	f.Memory, errs[3] = once(g, "memory"+of, func() (int, error) {
		usage, err := s.Memory.Usage(ctx)
		return usage.Percent(), err
	})
	f.Holds, errs[4] = once(g, "holds"+of, func() (scripts.Holds, error) { return s.Gate.Holds(ctx) })
	if err := cmp.Or(errs[:]...); err != nil {
		return err
	}
	if f.runs() {
		return g.steps(ctx, s, f)
	}
	return g.waiting(ctx, s, f)
}

// waiting collects the facts of an id that has no running job.
func (g *gatherer) waiting(ctx context.Context, s *scripts.Scripts, f *facts) error {
	contenders, err := once(g, "contenders of "+s.Keys.Prefix, func() (map[string]time.Time, error) {
		return s.Memory.Contenders(ctx)
	})
	if err != nil {
		return err
	}
	_, f.Contender = contenders[f.ID]
	if r := f.Report; r != nil && f.Holds.Limit(scripts.PausedReport(r.Name), r.Running) > 0 {
		_, f.Limited, err = score(ctx, s, s.Keys.Waiting(r.Name), f.ID)
		if err != nil {
			return err
		}
	}
	if f.Record != nil && f.Record.Status == report.Pending {
		f.Stopped, err = once(g, "stopped", func() (stopped, error) { return g.stopped(ctx, f.Holds) })
		if err != nil {
			return err
		}
		f.Leader, f.LeaderErr = g.Jobs.Leader(ctx, *f.Record)
	}
	if f.Place, err = s.Lanes.Place(ctx, f.ID); err != nil {
		return err
	}
	ended := f.Record != nil && f.Record.Status.Final()
	if f.Record != nil && !ended && f.Report != nil {
		if err := g.types(ctx, s, f); err != nil {
			return err
		}
	}
	if f.Record != nil && (f.Record.Status == report.Failed || f.Record.Status == report.Cancelled) {
		if f.Kept, err = g.Jobs.Kept(ctx, *f.Record, job.AnyAge); err != nil {
			return err
		}
	}
	if at, ok, err := score(ctx, s, s.Keys.Dead, f.ID); err != nil {
		return err
	} else if ok {
		f.Dead = time.UnixMilli(int64(at))
	}
	if f.Jobs, err = g.queue(ctx, s, s.Keys.Jobs, f.ID, 0); err != nil || ended {
		return err
	}
	if s.Lanes.On() && f.Jobs.Entry == nil {
		if next, err := g.queue(ctx, s, s.Keys.Next, f.ID, 0); err != nil || next.Entry != nil {
			f.Jobs = next
			return err
		}
	}
	f.Quarantined, f.QuarantineWhole, err = g.Quarantine.Search(ctx, f.ID)
	return err
}

// maxStopped is the maximum number of running jobs that stopped reads.
const maxStopped = 1000

// stopped returns the running jobs that still need what is paused.
func (g *gatherer) stopped(ctx context.Context, holds scripts.Holds) (most stopped, err error) {
	if len(holds) == 0 {
		return most, nil
	}
	list, err := g.Jobs.Running(ctx, maxStopped)
	wait := map[string]int{}
	for _, r := range list {
		of := g.Config.Reports[r.Report]
		if of == nil {
			continue
		}
		pauses := map[string]bool{}
		for _, name := range r.Open {
			if l, _, ok := of.Listener(name); ok {
				pauses[holds.Stops(name, l.Source)] = true
			}
		}
		for what := range pauses {
			wait[what]++
		}
	}
	delete(wait, "")
	for _, what := range slices.Sorted(maps.Keys(wait)) {
		if n := wait[what]; n > most.Jobs {
			most = stopped{what, n, len(list)}
		}
	}
	return most, err
}

// score returns the score of a member of a sorted set, and whether it is one.
func score(ctx context.Context, s *scripts.Scripts, key, member string) (float64, bool, error) {
	scores, err := s.Sets.Scores(ctx, key, []string{member})
	at, ok := scores[member]
	return at, ok, err
}

// types returns an error if a key that the start of the job needs has another type.
func (g *gatherer) types(ctx context.Context, s *scripts.Scripts, f *facts) error {
	_, err := once(g, "types of "+f.Keys.Prefix+" "+f.Report.Name, func() (struct{}, error) {
		keys := []string{f.Keys.Deadlines, f.Keys.Events}
		if len(f.Report.Stages) > 0 {
			for _, l := range f.Report.Stages[0].Listeners {
				keys = append(keys, f.Keys.Task(l.Name))
			}
		}
		key, is, err := s.KeyOfWrongType(ctx, keys...)
		if key != "" {
			err = wrongType(fmt.Sprintf("the key %s is a %s, not a %s: inspect it with redis-cli TYPE %s",
				key, is, f.Keys.Type(key), shell(key)))
		}
		return struct{}{}, err
	})
	return err
}

// wrongType is the error of a key with another type, which Redis would answer to a command.
type wrongType string

func (w wrongType) Error() string { return "WRONGTYPE " + string(w) }
func (w wrongType) RedisError()   {}

// steps finds the stream entries of the open steps of a job, and who has the slots of their sources and waits for one.
func (g *gatherer) steps(ctx context.Context, s *scripts.Scripts, f *facts) (err error) {
	f.Holders, err = once(g, "slots", func() (map[string][]scripts.Holder, error) { return g.Slots.Holders(ctx) })
	if err != nil {
		return err
	}
	f.Line, err = once(g, "line", func() (map[string][]scripts.Holder, error) { return g.Slots.Queue(ctx) })
	if err != nil {
		return err
	}
	for _, p := range f.open() {
		for _, stream := range f.streams(p.Name) {
			q, err := g.queue(ctx, s, stream, f.ID, f.Job.Attempt)
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

// delayed finds the members of the delayed set that belong to an id. It asks for every possible
// member by name, because the set can be large.
func (g *gatherer) delayed(ctx context.Context, s *scripts.Scripts, f *facts) ([]inspect.Delayed, error) {
	members := trigger.BeforeStart(f.ID)
	if f.Job != nil {
		steps := []string{job.StepFanIn, job.StepRecord}
		for _, p := range f.Job.Open() {
			if p.Name != job.StepFanIn {
				steps = append(steps, p.Name)
			}
		}
		for _, step := range steps {
			members = append(members, job.Later{ID: f.ID, Attempt: f.Job.Attempt, Step: step}.String())
		}
	}
	scores, err := s.Sets.Scores(ctx, f.Keys.Delayed, members)
	var found []inspect.Delayed
	for _, m := range members {
		if score, ok := scores[m]; ok {
			found = append(found, inspect.NewDelayed(m, score, f.Now))
		}
	}
	return found, err
}
