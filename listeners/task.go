package listeners

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/internal/ask"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// tasks executes the tasks of one listener: it claims a task, runs its query and applies the result.
type tasks struct {
	*Runner
	share       *share
	connections map[string]*share // by source; those that need connections
	listener    string
	sources     []string
	stop        <-chan struct{} // closed: no task begins any more
}

// task is a task that this process has claimed.
type task struct {
	Task               // as its source sees it
	own  *scripts.Task // as Redis sees it
	lock sync.Mutex    // of the generation of own, which renewals read while fallBack raises it
	// outage is true if the try counts although its source was away, because older rows may be used.
	outage bool
	*Runner
	stored stored

	slot       taskSlot
	clock      *ask.Patience
	began      time.Time // the query
	pauses     pauses
	said       string             // what it waits for, as people see it
	chunks     int64              // stored, or being stored
	rows       int64              // of them, and of those in the spool
	compressor dataset.Compressor // of chunks
}

var (
	_ step.Handler[*task] = (*tasks)(nil)
	_ step.Step           = (*task)(nil)
)

// tasks returns the handler of a listener's tasks until ctx ends.
func (r *Runner) tasks(ctx context.Context, listener string) *tasks {
	var sources []string
	connections := map[string]*share{}
	for _, hash := range r.known[listener] {
		l, _, _ := r.definitions[hash].Listener(listener)
		if !slices.Contains(sources, l.Source) {
			sources = append(sources, l.Source)
		}
		if of := r.slots.source(l.Source); of != nil {
			connections[l.Source] = &share{slots: of}
		}
	}
	return &tasks{r, &share{slots: r.slots.listener(listener, sources...)}, connections, listener, sources, ctx.Done()}
}

// newTask returns a task with a stored memo; nil: none. It returns false if this process does not have its definition.
func (r *Runner) newTask(own *scripts.Task, stored []byte) (*task, bool) {
	var m memo
	if stored != nil {
		m = remembered(stored)
	}
	hash := cmp.Or(own.Definition, m.Definition)
	rep := r.definitions[hash]
	if rep == nil {
		return nil, false
	}
	listener, _, ok := rep.Listener(own.Listener)
	return &task{own: own, Runner: r, stored: r.stored[hash], Task: Task{
		ID: own.ID, Attempt: own.Attempt, Report: rep, Listener: listener, Memo: m.Memo, Before: own.Failure,
	}}, ok
}

// admit returns the maximum number of running tasks: 0, so that none begins, while the listener or every source of it
// is paused.
func (r *tasks) admit(ctx context.Context) (int, error) {
	paused, err := r.paused(ctx)
	if err != nil || paused {
		return 0, err
	}
	free := 0
	for _, s := range r.connections {
		free = max(free, s.free())
	}
	if free == 0 { // no source needs connections
		return r.share.free(), nil
	}
	return min(free, r.share.free()), nil
}

func (r *tasks) paused(ctx context.Context) (bool, error) {
	found, err := r.o.Scripts.Gate.Recent(ctx)
	return found.Stops(r.listener, r.sources...) != "", err
}

// stopped returns a wait if the listener or the source of a task is paused: it was paused while the task waited for a
// slot, or reports have other sources for this listener, which are not.
func (r *tasks) stopped(ctx context.Context, t *task) error {
	found, err := r.o.Scripts.Gate.Recent(ctx)
	if what := found.Stops(r.listener, t.Listener.Source); err == nil && what != "" {
		what = strings.Replace(what, "/", " ", 1) + " is paused"
		return wait{slotPatience + rand.N(slotPatience), what, job.BlameTasks}
	}
	return nil
}

func (t *task) Job() string { return t.ID }

func (t *task) Renew(ctx context.Context) (bool, error) {
	t.lock.Lock()
	defer t.lock.Unlock()
	kept, err := t.own.Renew(ctx)
	return kept == scripts.OK, err
}

func (t *task) Tries() (int64, report.Retry, string) {
	return t.own.Tries, t.Listener.Retry, t.own.Failure
}

// Claim claims the task of an entry. The first delivery needs no takeover, any other one does.
func (r *tasks) Claim(ctx context.Context, entry step.Entry) (*task, step.Result) {
	message, ok := entry.Message()
	if !ok {
		return nil, step.Result{Kind: step.Unusable, Err: errors.New("not a task: id and attempt are needed")}
	}
	own, first := r.o.Scripts.Tasks.New(message, r.listener, entry.Entry)
	if entry.Fields["cancel"] == "1" {
		return nil, r.cancel(ctx, own)
	}
	if paused, err := r.paused(ctx); err == nil && paused {
		// It was paused while this read waited for an entry.
		return nil, r.handOn(ctx, "put task back",
			func() error { return r.o.Scripts.Streams.MoveToEnd(ctx, entry.Entry) })
	}
	outcome, err := step.Insist(ctx, r.log, "take task", func() (scripts.Outcome, error) {
		switch {
		case !first || entry.Deliveries != 1:
			return own.Take(ctx, scripts.Take{
				Owner: r.o.Consumer + "/" + strconv.FormatInt(r.takes.Add(1), 10), Known: r.known[r.listener],
				Redelivered: entry.Deliveries > 1,
			})
		case slices.Contains(r.known[r.listener], own.Definition):
			return own.Load(ctx)
		}
		return scripts.Unknown, nil
	}, step.UnlessFull)
	switch {
	case errors.Is(err, scripts.ErrBroken):
		return nil, step.Result{Kind: step.Unusable, Err: err}
	case err != nil || outcome == scripts.Busy:
		return nil, step.Result{Kind: step.Elsewhere, Err: err}
	case outcome == scripts.OK:
		if t, ok := r.newTask(own, own.Memo); ok {
			return t, step.Result{}
		}
	case outcome != scripts.Unknown:
		return nil, step.Result{Kind: step.Void}
	}
	if _, said := r.handed.LoadOrStore(own.Definition, true); !said {
		r.log.Info("tasks are handed back: their definition is not in this configuration", "report", own.Report,
			"definition", own.Definition, "first", own.ID, "listener", r.listener)
	}
	return nil, r.handOn(ctx, "hand task back", func() error { return own.HandBack(ctx) })
}

// handOn runs a script that leaves an entry to another process.
func (r *Runner) handOn(ctx context.Context, what string, script func() error) step.Result {
	if err := step.Ensure(ctx, r.log, what, script, step.UnlessFull); err != nil {
		return step.Result{Kind: step.Elsewhere, Err: err}
	}
	return step.Result{Kind: step.Moved}
}

// Work runs the query, stores its rows and completes the task.
func (r *tasks) Work(ctx context.Context, t *task) step.Result {
	start := time.Now()
	ctx, span := r.span(ctx, t)
	err := r.read(ctx, t)
	r.metrics.seconds.WithLabelValues(r.listener).Observe(time.Since(start).Seconds())
	result := resultOf(err)
	if result.Kind == step.Outage && result.Blame == job.BlameSource && t.Listener.OnFailure.Stale > 0 {
		result.Kind, t.outage = step.Retry, true // after the last try, older rows are used if there are some
	}
	endSpan(ctx, span, t, result)
	switch interrupted, ok := step.Interrupted(ctx); {
	case result.Kind == step.Done || result.Kind == step.Void:
		r.metrics.tasks.WithLabelValues(r.listener, taskDone).Inc()
	case ok && interrupted.Kind == step.Elsewhere, result.Kind == step.Elsewhere:
		r.metrics.tasks.WithLabelValues(r.listener, taskLeft).Inc()
	}
	return result
}

// resultOf returns the result of a try from the error of the source or of storing its rows.
func resultOf(err error) step.Result {
	var waiting wait
	switch {
	case err == nil:
		return step.Result{}
	case errors.Is(err, ErrEnded):
		return step.Result{Kind: step.Void}
	case errors.Is(err, errLeft):
		return step.Result{Kind: step.Elsewhere, Err: err}
	case errors.Is(err, step.ErrStopping):
		return step.Result{Kind: step.Stopping}
	case errors.As(err, &waiting):
		return step.Result{Kind: step.Waiting, After: waiting.time, Err: errors.New(waiting.what), Blame: waiting.blame}
	}
	result := step.Result{Kind: step.Retry, Err: err, Blame: blame(err)}
	switch {
	case errors.Is(err, ErrPermanent):
		result.Kind = step.Permanent
	case errors.Is(err, ErrOutage):
		result.Kind = step.Outage
	}
	return result
}

// blame says whose fault the error of a task is.
func blame(err error) job.Blame {
	switch {
	case errors.Is(err, scripts.ErrFull), errors.Is(err, errRedis):
		return job.BlameRedis
	case errors.Is(err, errSpool):
		return job.BlameSpool
	case errors.Is(err, errReport):
		return job.BlameReport
	}
	return job.BlameSource
}

// End requeues a task, or gives it up: its job uses older data of its listener, continues without it, or fails.
func (r *Runner) End(ctx context.Context, t *task, v step.Verdict) step.Result {
	log := r.log.With("job", t.ID, "attempt", t.Attempt, "listener", t.Listener.Name)
	if v.Act == step.GiveUp && t.Listener.OnFailure.Stale > 0 {
		switch result := r.fallBack(ctx, t, v.Err); result.Kind {
		case step.Done, step.Void, step.Elsewhere:
			return result
		case step.Permanent: // the listener has failed, or waits until its source is back
			if t.outage {
				away := step.Result{Kind: step.Outage, Err: v.Err, Blame: v.Blame}
				v = step.Decide(away, t.own.Tries, t.Listener.Retry)
			}
		default:
			v = step.Decide(result, t.own.Tries, t.Listener.Retry)
		}
		var cancel context.CancelFunc
		ctx, cancel = step.Lasting(ctx)
		defer cancel()
	}
	outcome, what := taskRetry, "requeue task"
	script := func() (scripts.Outcome, error) { return t.own.Requeue(ctx, v.Again) }
	switch {
	case v.Act == step.GiveUp && t.Listener.Optional:
		outcome, what = taskOmitted, "omit task"
		log.Warn("the job goes on without a listener", "err", v.Err)
		script = func() (scripts.Outcome, error) { return t.own.Omit(ctx, t.Listener.Instead(), v.Err.Error()) }
	case v.Act == step.GiveUp:
		outcome, what = taskFailed, "fail job"
		log.Warn("task failed", "err", v.Err)
		script = func() (scripts.Outcome, error) { return t.own.Fail(ctx, v.Err.Error(), v.Blame) }
	case v.Again.Waits:
		outcome = taskWaits
		log.Debug("task waits", "in", v.Again.Delay, "for", v.Again.Error)
	case v.Again.Error == "":
		outcome = taskLeft
		log.Info("handed back: the process stops")
	case !v.Again.Counts:
		outcome = taskOutage
		fallthrough
	default:
		log.Warn("task is tried again", "in", v.Again.Delay, "counts", v.Again.Counts, "err", v.Again.Error)
	}
	r.metrics.tasks.WithLabelValues(t.Listener.Name, outcome).Inc()
	ended, err := step.Insist(ctx, r.log, what, script, step.UnlessFull)
	if err != nil || ended == scripts.Busy {
		return step.Result{Kind: step.Elsewhere, Err: err}
	}
	return step.Result{} // acknowledged by the script, also if the job is gone
}
