package listeners

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// external applies the replies of external workers with the scripts of tasks, so that the same fences
// apply. A worker owns its task from its first reply on.
type external struct{ *Runner }

const (
	// replySlots is the maximum number of concurrent replies in a process: some MB.
	replySlots = 16
	// replyIdle is after how long a reply is read again that had to wait, or whose process died.
	// Applying a reply twice has no further effect.
	replyIdle = 2 * time.Second
	// earlyTries is how often a reply is tried that cannot be applied yet, before it moves to the end of
	// the stream.
	earlyTries = 4
)

// replies returns the reader of replies.
func (e *external) replies() *step.Reader {
	return step.New(step.Options{
		Redis: e.o.Redis, Stream: e.o.Scripts.Keys.Reply, Scripts: e.o.Scripts, Consumer: e.o.Consumer,
		Slots: replySlots, Batch: true, MinIdle: min(replyIdle, e.o.Limits.Lease), KeepAlive: true, Log: e.log,
		Handle: e.handleAll, Patience: e.o.Limits.ShutdownTimeout,
	})
}

// handleAll handles the entries of a job in order, and different jobs concurrently.
func (e *external) handleAll(ctx context.Context, entries []step.Entry) []step.Result {
	results := make([]step.Result, len(entries))
	jobs := map[string][]int{}
	for i, entry := range entries {
		jobs[entry.Fields["id"]] = append(jobs[entry.Fields["id"]], i)
	}
	var all sync.WaitGroup
	for _, of := range jobs {
		all.Go(func() {
			for _, i := range of {
				results[i] = e.handleReply(ctx, entries[i])
			}
		})
	}
	all.Wait()
	return results
}

// refused is the error of a reply without effect, because its worker does not own the task. An event
// reports it.
type refused struct{ why string }

func (r refused) Error() string { return r.why }

// errEarly is the error of a reply that cannot be applied here yet: this process does not have its
// definition, or rows before its rows are missing.
var errEarly = errors.New("the reply cannot be applied here yet")

// errUnknown is errEarly for the first of these reasons.
var errUnknown = fmt.Errorf("%w: its definition is not in this configuration", errEarly)

// handleReply applies a reply.
func (e *external) handleReply(ctx context.Context, entry step.Entry) step.Result {
	a, err := parseReply(entry.Fields)
	if !errors.Is(err, errNobody) {
		err = e.apply(ctx, a, entry, err)
	}
	var no refused
	switch {
	case err == nil:
		return step.Result{Kind: step.Void}
	case errors.As(err, &no):
		err = e.note(ctx, a, no)
		if err == nil || errors.Is(err, scripts.ErrFull) { // the log has the refusal
			return step.Result{Kind: step.Void}
		}
	case errors.Is(err, errNobody), errors.Is(err, scripts.ErrBroken):
		return step.Result{Kind: step.Unusable, Err: err}
	case errors.Is(err, errEarly) && entry.Deliveries > earlyTries:
		// At the end of the stream it does not delay the detection of silence. Its worker's lease is
		// not renewed.
		return e.handOn(ctx, "move reply to the end",
			func() error { return e.o.Scripts.Streams.MoveToEnd(ctx, entry.Entry) })
	case errors.Is(err, errEarly), errors.Is(err, errLeft):
		err = nil
	}
	return step.Result{Kind: step.Elsewhere, Err: err}
}

// note reports a refused reply as an event.
func (e *external) note(ctx context.Context, a reply, no refused) error {
	e.log.Info("reply refused", "job", a.ID, "attempt", a.Attempt, "listener", a.Listener, "worker", a.Worker,
		"type", a.Type, "err", no)
	return step.Ensure(ctx, e.log, "append event", func() error {
		return e.o.Scripts.Jobs.Note(ctx, a.ID, a.Attempt, "refused", "listener", a.Listener, "worker", a.Worker,
			"type", report.ShortenTo(a.Type, 100), "reason", no.why)
	}, step.UnlessFull)
}

// apply applies a reply. If wrong is not nil, the fields of the reply are not valid: the task fails if
// the worker owns it.
func (e *external) apply(ctx context.Context, a reply, entry step.Entry, wrong error) error {
	w, _, err := e.worker(ctx, a, scripts.EntryTime(entry.ID))
	if errors.Is(err, errUnknown) && entry.Deliveries > earlyTries {
		e.log.Info("handed back: its definition is not in this configuration", "job", a.ID, "listener",
			a.Listener, "type", a.Type)
	}
	if err != nil {
		return err
	}
	if err := w.take(ctx); err != nil || w.ended {
		return err
	}
	if wrong == nil {
		return w.apply(ctx)
	}
	// The quarantine shows the reply. The service would send the same with every try.
	e.log.Warn("quarantined", "stream", entry.Stream, "entry", entry.ID, "err", wrong)
	if err := step.Ensure(ctx, e.log, "quarantine", func() error {
		return e.o.Scripts.Streams.Quarantine(ctx, entry.Stream, entry.ID, entry.Fields, wrong.Error())
	}, step.UnlessFull); err != nil {
		return err
	}
	return w.fail(ctx, Permanent(wrong))
}

// worker returns the worker of a reply that was sent at a time of Redis, with the state of its job. It refuses a
// reply that can have no effect. The worker has yet to take its task.
func (e *external) worker(ctx context.Context, a reply, said time.Time) (*worker, *job.State, error) {
	state, err := e.look(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	rep := e.definitions[state.Definition]
	if rep == nil {
		return nil, nil, errUnknown
	}
	if l, _, ok := rep.Listener(a.Listener); !ok || l.Kind != report.External {
		return nil, nil, fmt.Errorf("%w: report %s has no external listener %s", errNobody, rep.Name, a.Listener)
	}
	own, _ := e.o.Scripts.Tasks.New(a.Message, a.Listener,
		scripts.Entry{Stream: e.o.Scripts.Keys.Task(a.Listener), Consumer: a.Consumer, ID: a.Entry})
	own.Definition, own.Parameters = state.Definition, state.Parameters
	own.Generation = state.Tasks[a.Listener].Generation
	t, _ := e.newTask(own, nil)
	own.Lease = t.Listener.Silence
	w := &worker{external: e, reply: a, task: t, state: state.Tasks[a.Listener], said: said}
	return w, state, e.ofAnother(ctx, a, own.Entry)
}

// look reads the state of a reply's job. It refuses a reply that can have no effect.
func (e *external) look(ctx context.Context, a reply) (*job.State, error) {
	state, err := step.Insist(ctx, e.log, "read state",
		func() (*job.State, error) { return e.o.Scripts.Jobs.Read(ctx, a.ID) }, step.UnlessFull)
	switch {
	case errors.Is(err, scripts.ErrNoJob):
		return nil, refused{"the job has ended, or never existed"}
	case errors.Is(err, scripts.ErrBroken):
		return nil, err
	case err != nil:
		return nil, away(err)
	case state.Attempt != a.Attempt:
		return nil, refused{fmt.Sprintf("attempt %d runs, not %d", state.Attempt, a.Attempt)}
	}
	t, ok := state.Tasks[a.Listener]
	switch {
	case !ok:
		return nil, refused{"the job has no such listener in its stages so far"}
	case t.Done && t.Owner == a.Worker && a.Type != replyFailed:
		return state, nil // a repetition
	case t.Done:
		return nil, refused{"the task is done"}
	case state.Status != job.StatusRun: // one of an earlier stage runs again, see scripts.Folds.Reopen
		return nil, refused{"the job is " + state.Status}
	}
	return state, nil
}

// ofAnother refuses a reply that names the entry of another task, which it would acknowledge. A
// deleted entry is no reason to refuse.
func (e *external) ofAnother(ctx context.Context, a reply, named scripts.Entry) error {
	found, err := step.Insist(ctx, e.log, "read entry", func() (*scripts.Entry, error) {
		return e.o.Scripts.Entries.Get(ctx, named.Stream, named.ID)
	}, step.UnlessFull)
	if err != nil || found == nil {
		return err
	}
	id, attempt := found.Fields["id"], found.Fields["attempt"]
	if n, err := strconv.ParseInt(attempt, 10, 64); err != nil || id != a.ID || n != a.Attempt {
		return refused{fmt.Sprintf("entry %s belongs to job %s, attempt %s", named.ID,
			report.ShortenTo(id, 100), report.ShortenTo(attempt, 100))}
	}
	return nil
}
