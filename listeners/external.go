package listeners

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// external does what external listeners need: it applies what their workers say by
// the scripts of tasks, so that all fences hold for them, too, and sees when they
// fall silent (silence.go). A worker is the owner of its task, from the first of its
// replies on.
type external struct{ *Runner }

const (
	// replySlots is how many replies are under way at once in one process: some MB.
	replySlots = 16
	// replyIdle is after how long a reply is looked at again that had to wait, or whose
	// process died. What is applied twice has no effect the second time.
	replyIdle = 2 * time.Second
	// strangeLooks is how often a reply is tried whose job's definition is not in this
	// process, or whose rows come too far before their turn, until it goes to the end.
	strangeLooks = 4
)

// replies returns the reader of what workers say.
func (e *external) replies() *step.Reader {
	return step.New(step.Options{
		Redis: e.o.Redis, Stream: e.o.Scripts.Keys.Reply(), Scripts: e.o.Scripts, Consumer: e.o.Consumer,
		Slots: replySlots, Batch: true, MinIdle: min(replyIdle, e.o.Limits.Lease), KeepAlive: true, Log: e.log,
		Handle: e.handleAll, Patience: e.o.Limits.Stop,
	})
}

// handleAll handles entries in their order, those of different jobs at the same time.
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

// refused is the error of a reply that has no effect, since its worker is not the
// task's owner. It is told in an event.
type refused struct{ why string }

func (r refused) Error() string { return r.why }

// errFar is the error of rows that come too far before their turn.
var errFar = errors.New("listeners: rows before these are missing")

// handleReply applies a reply.
func (e *external) handleReply(ctx context.Context, entry step.Entry) step.Result {
	a, err := parseReply(entry.Fields)
	if !errors.Is(err, errNobody) {
		if err = e.apply(ctx, a, entry, err); errors.Is(err, errFar) {
			// It waits among the pending entries first: what is before it comes meanwhile.
			if err = errLeft; entry.Deliveries > strangeLooks {
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
		err = e.unlessFull(ctx, "append event", func() error {
			return e.o.Scripts.Jobs.Note(ctx, a.ID, a.Attempt, "refused", "listener", a.Listener, "worker", a.Worker, "type", cut(a.Type, 100), "reason", no.why)
		})
		if err == nil || errors.Is(err, scripts.ErrFull) { // that it was refused is in the log
			return step.Result{Kind: step.Void}
		}
	case errors.Is(err, errNobody), errors.Is(err, scripts.ErrBroken):
		return step.Result{Kind: step.Unusable, Err: errors.New(strings.TrimPrefix(err.Error(), "listeners: "))}
	case errors.Is(err, errLeft):
		err = nil
	}
	return step.Result{Kind: step.Elsewhere, Err: err}
}

// aside puts a reply into the quarantine.
func (e *external) aside(ctx context.Context, entry step.Entry, why error) error {
	e.log.Warn("quarantined", "stream", e.o.Scripts.Keys.Reply(), "entry", entry.ID, "err", why)
	return e.unlessFull(ctx, "quarantine", func() error {
		return e.o.Scripts.Streams.Quarantine(ctx, e.o.Scripts.Keys.Reply(), entry.ID, entry.Fields, strings.TrimPrefix(why.Error(), "listeners: "))
	})
}

// unlessFull repeats what appends to Redis, and gives up with scripts.ErrFull where that
// takes nothing: others must go on, so that it has room again.
func (e *external) unlessFull(ctx context.Context, what string, add func() error) error {
	return e.insist(ctx, what, func() error {
		err := add()
		if err != nil && strings.Contains(err.Error(), "OOM command not allowed") {
			err = fmt.Errorf("%w: %w", scripts.ErrFull, err)
		}
		return err
	})
}

// apply does what a reply says. wrong is what is wrong with its fields: then its task
// fails, if it is the worker's.
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
		// People see what came; a service that sends this sends it with every try.
		if err := e.aside(ctx, entry, wrong); err != nil {
			return err
		}
		return w.fail(ctx, Permanent(wrong))
	}
	return w.apply(ctx)
}

// leave leaves a reply to a process that has its job's definition. Where none takes it
// for a while, it goes to the end of the stream: what is behind it counts as heard.
func (e *external) leave(ctx context.Context, a reply, entry step.Entry) error {
	if entry.Deliveries <= strangeLooks {
		return errLeft
	}
	e.log.Info("handed back: its definition is not in this configuration", "job", a.ID, "listener", a.Listener, "type", a.Type)
	return e.handOn(ctx, entry)
}

// handOn puts a reply behind all others. It is no sign of life of its worker: one that
// nothing else is heard of falls silent.
func (e *external) handOn(ctx context.Context, entry step.Entry) error {
	return e.unlessFull(ctx, "hand reply on", func() error {
		return e.o.Redis.XAdd(ctx, &redis.XAddArgs{Stream: e.o.Scripts.Keys.Reply(), Values: entry.Fields}).Err()
	})
}

// look reads the state of a reply's job, as long as the reply can have an effect.
func (e *external) look(ctx context.Context, a reply) (*job.State, error) {
	state, err := insist(ctx, e.Runner, "read state", func() (*job.State, error) {
		state, err := e.o.Scripts.Jobs.Read(ctx, a.ID)
		return state, broken(err)
	})
	switch {
	case errors.Is(err, scripts.ErrNoJob):
		return nil, refused{"the job has ended, or there never was one"}
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
		return state, nil // the same once more
	case t.Done:
		return nil, refused{"the task is done"}
	case state.Status != job.StatusRun || t.Stage != state.Stage:
		return nil, refused{"the job is " + state.Status}
	}
	return state, nil
}

// pending tells whether a task's entry is still to be done.
func (e *external) pending(ctx context.Context, of scripts.Entry) (bool, error) {
	return insist(ctx, e.Runner, "look for entry", func() (bool, error) {
		found, err := e.o.Redis.XPendingExt(ctx, &redis.XPendingExtArgs{
			Stream: of.Stream, Group: of.Group, Start: of.ID, End: of.ID, Count: 1,
		}).Result()
		if redis.HasErrorPrefix(err, "NOGROUP") {
			err = nil
		}
		return len(found) > 0, broken(err)
	})
}

// broken marks the error of a key that is of another type: trying again does not help.
func broken(err error) error {
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		return fmt.Errorf("%w: %w", scripts.ErrBroken, err)
	}
	return err
}

// ofAnother refuses a reply that names the entry of another task, which would end with it.
// One that is not there any more is nobody's.
func (e *external) ofAnother(ctx context.Context, a reply, named scripts.Entry) error {
	return e.insist(ctx, "read entry", func() error {
		found, err := e.o.Redis.XRangeN(ctx, named.Stream, named.ID, named.ID, 1).Result()
		if err != nil || len(found) == 0 {
			return broken(err)
		}
		id, attempt := fmt.Sprint(found[0].Values["id"]), fmt.Sprint(found[0].Values["attempt"])
		if n, err := strconv.ParseInt(attempt, 10, 64); err != nil || id != a.ID || n != a.Attempt {
			return step.Final(refused{fmt.Sprintf("entry %s is that of job %s, attempt %s", named.ID, cut(id, 100), cut(attempt, 100))})
		}
		return nil
	})
}
