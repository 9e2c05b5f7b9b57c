package listeners

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// external serves external listeners. It applies the replies of their workers with the scripts of
// tasks, so that the same fences apply, and detects silent workers (silence.go). A worker owns its
// task from its first reply on.
type external struct{ *Runner }

const (
	// replySlots is the maximum number of concurrent replies in a process: some MB.
	replySlots = 16
	// replyIdle is after how long a reply is read again that had to wait, or whose process died.
	// Applying a reply twice has no further effect.
	replyIdle = 2 * time.Second
	// strangeTries is how often a reply is tried whose definition this process does not have, or
	// whose rows come too early, before it moves to the end of the stream.
	strangeTries = 4
)

// replies returns the reader of replies.
func (e *external) replies() *step.Reader {
	return step.New(step.Options{
		Redis: e.o.Redis, Stream: e.o.Scripts.Keys.Reply, Scripts: e.o.Scripts, Consumer: e.o.Consumer,
		Slots: replySlots, Batch: true, MinIdle: min(replyIdle, e.o.Limits.Lease), KeepAlive: true, Log: e.log,
		Handle: e.handleAll, Patience: e.o.Limits.Stop,
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

// errFar is the error of rows that come too early.
var errFar = errors.New("rows before these are missing")

// handleReply applies a reply.
func (e *external) handleReply(ctx context.Context, entry step.Entry) step.Result {
	a, err := parseReply(entry.Fields)
	if !errors.Is(err, errNobody) {
		if err = e.apply(ctx, a, entry, err); errors.Is(err, errFar) {
			// It stays pending first: the rows before it may arrive meanwhile.
			if err = errLeft; entry.Deliveries > strangeTries {
				err = e.handOn(ctx, entry)
			}
		}
	}
	var no refused
	switch {
	case err == nil:
		return step.Result{Kind: step.Void}
	case errors.As(err, &no):
		e.log.Info("reply refused", "job", a.ID, "attempt", a.Attempt, "listener", a.Listener, "worker", a.Worker, "type", a.Type, "err", err)
		err = e.insist(ctx, "append event", func() error {
			return e.o.Scripts.Jobs.Note(ctx, a.ID, a.Attempt, "refused", "listener", a.Listener, "worker", a.Worker, "type", report.ShortenTo(a.Type, 100), "reason", no.why)
		})
		if err == nil || errors.Is(err, scripts.ErrFull) { // the log has the refusal
			return step.Result{Kind: step.Void}
		}
	case errors.Is(err, errNobody), errors.Is(err, scripts.ErrBroken):
		return step.Result{Kind: step.Unusable, Err: err}
	case errors.Is(err, errLeft):
		err = nil
	}
	return step.Result{Kind: step.Elsewhere, Err: err}
}

// aside quarantines a reply.
func (e *external) aside(ctx context.Context, entry step.Entry, why error) error {
	e.log.Warn("quarantined", "stream", e.o.Scripts.Keys.Reply, "entry", entry.ID, "err", why)
	return e.insist(ctx, "quarantine", func() error {
		return e.o.Scripts.Streams.Quarantine(ctx, e.o.Scripts.Keys.Reply, entry.ID, entry.Fields, why.Error())
	})
}

// apply applies a reply. If wrong is not nil, the fields of the reply are not valid: the task fails if
// the worker owns it.
func (e *external) apply(ctx context.Context, a reply, entry step.Entry, wrong error) error {
	state, err := e.look(ctx, a)
	if err != nil {
		return err
	}
	rep := e.definitions[state.Definition]
	if rep == nil {
		return e.leave(ctx, a, entry)
	}
	l, _, ok := rep.Listener(a.Listener)
	if !ok || l.Kind != report.External {
		return fmt.Errorf("%w: report %s has no external listener %s", errNobody, rep.Name, a.Listener)
	}
	w := &worker{external: e, reply: a, listener: l, state: state.Tasks[a.Listener]}
	w.task, _ = e.o.Scripts.Tasks.New(scripts.Message{ID: a.ID, Attempt: a.Attempt}, a.Listener,
		scripts.Entry{Stream: e.o.Scripts.Keys.Task(a.Listener), Group: scripts.Group, Consumer: a.Consumer, ID: a.Entry}, nil)
	w.task.Lease, w.task.Definition, w.task.Generation = l.Silence, state.Definition, w.state.Generation
	w.said = scripts.EntryTime(entry.ID)
	if err := e.ofAnother(ctx, a, w.task.Entry); err != nil {
		return err
	}
	if err := w.take(ctx); err != nil || w.ended {
		return err
	}
	if wrong != nil {
		// The quarantine shows the reply. The service would send the same with every try.
		if err := e.aside(ctx, entry, wrong); err != nil {
			return err
		}
		return w.fail(ctx, Permanent(wrong))
	}
	return w.apply(ctx)
}

// leave leaves a reply to a process that has the definition of its job. If none takes it for a while,
// it moves to the end of the stream, so that it does not delay the detection of silence.
func (e *external) leave(ctx context.Context, a reply, entry step.Entry) error {
	if entry.Deliveries <= strangeTries {
		return errLeft
	}
	e.log.Info("handed back: its definition is not in this configuration", "job", a.ID, "listener", a.Listener, "type", a.Type)
	return e.handOn(ctx, entry)
}

// handOn moves a reply to the end of the stream. It does not renew the lease of its worker.
func (e *external) handOn(ctx context.Context, entry step.Entry) error {
	return e.insist(ctx, "hand reply on", func() error {
		fields := make([]string, 0, 2*len(entry.Fields))
		for name, value := range entry.Fields {
			fields = append(fields, name, value)
		}
		return e.o.Scripts.Streams.Append(ctx, e.o.Scripts.Keys.Reply, 0, fields...)
	})
}

// look reads the state of a reply's job. It refuses a reply that can have no effect.
func (e *external) look(ctx context.Context, a reply) (*job.State, error) {
	state, err := insist(ctx, e.Runner, "read state", func() (*job.State, error) {
		return e.o.Scripts.Jobs.Read(ctx, a.ID)
	})
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
	case state.Status != job.StatusRun || t.Stage != state.Stage:
		return nil, refused{"the job is " + state.Status}
	}
	return state, nil
}

// pending reports whether a task's entry is pending.
func (e *external) pending(ctx context.Context, of scripts.Entry) (bool, error) {
	return insist(ctx, e.Runner, "look for entry", func() (bool, error) {
		consumer, _, err := e.o.Scripts.Entries.Reader(ctx, of.Stream, of.ID)
		return consumer != "", err
	})
}

// ofAnother refuses a reply that names the entry of another task, which it would acknowledge. A
// deleted entry is no reason to refuse.
func (e *external) ofAnother(ctx context.Context, a reply, named scripts.Entry) error {
	return e.insist(ctx, "read entry", func() error {
		found, ok, err := e.o.Scripts.Entries.Get(ctx, named.Stream, named.ID)
		if err != nil || !ok {
			return err
		}
		id, attempt := found.Fields["id"], found.Fields["attempt"]
		if n, err := strconv.ParseInt(attempt, 10, 64); err != nil || id != a.ID || n != a.Attempt {
			return step.Final(refused{fmt.Sprintf("entry %s belongs to job %s, attempt %s", named.ID, report.ShortenTo(id, 100), report.ShortenTo(attempt, 100))})
		}
		return nil
	})
}
