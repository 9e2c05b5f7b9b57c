package waiting

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/sink"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
)

const (
	// lookAge is how old what a page says may be: several browsers, and a stream, ask once.
	lookAge = 1500 * time.Millisecond
	// lookTime bounds what is asked for a page.
	lookTime = 10 * time.Second
	// maxLooks is how many answers are kept.
	maxLooks = 2000
)

// looks are what pages have just said of records. They are safe for concurrent use.
type looks struct {
	group singleflight.Group
	mu    sync.Mutex
	known map[string]facts
}

// of returns what is known of a record, and asks if that is older than lookAge. ask must not depend
// on the request that happens to be the first one.
func (l *looks) of(ctx context.Context, id string, ask func(context.Context) (facts, error)) (facts, error) {
	l.mu.Lock()
	f, ok := l.known[id]
	l.mu.Unlock()
	if ok && time.Since(f.Now) < lookAge {
		return f, nil
	}
	found, err, _ := l.group.Do(id, func() (any, error) {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
		defer cancel()
		f, err := ask(limited)
		if err != nil {
			return f, err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.known) >= maxLooks {
			maps.DeleteFunc(l.known, func(_ string, old facts) bool { return time.Since(old.Now) > lookAge })
		}
		if l.known == nil || len(l.known) >= maxLooks {
			l.known = map[string]facts{}
		}
		l.known[id] = f
		return f, nil
	})
	return found.(facts), err
}

// look asks Redis and the records for what a page says, and the sink once there is a file.
func (p *Pages) look(ctx context.Context, id string) (facts, error) {
	v, err := p.o.Inspect.Job(ctx, id)
	switch {
	case errors.Is(err, engine.ErrNoRecord):
		v = inspect.Job{ID: id, Status: inspect.Deleted}
	case err != nil && !v.Status.Final(): // of one that is final the record says enough
		return facts{}, err
	}
	f := facts{Job: v, Now: time.Now()}
	switch {
	case v.Status == report.Pending:
		f.Place, err = p.queues.of(ctx, p.o.Partitions.Of(id), id)
		return f, err
	case v.Status == report.Processing && v.Started != nil:
		r := run{attempt: v.Attempt, started: *v.Started, again: again(v), paused: len(v.Paused) > 0}
		if r.took, err = p.past.Of(ctx, v.Report); err != nil { // of some partitions, perhaps
			p.o.Log.Warn("how long earlier runs took is not known whole", "err", err)
		}
		f.Left = p.promises.of(id, r, f.Now)
	case v.Status.Final():
		p.promises.forget(id)
		if v.Status.HasFile() {
			f.Made = p.made(ctx, v)
		}
	}
	return f, nil
}

// again is when what has failed is tried again; zero: nothing has.
func again(v inspect.Job) (at time.Time) {
	for _, l := range v.Listeners {
		if l.Next != nil && !l.Waits && l.Next.After(at) {
			at = *l.Next
		}
	}
	if l := v.FanIn; l != nil && l.Next != nil && l.Next.After(at) {
		at = *l.Next
	}
	return at
}

// made reads what a file was made from; nil: that is not known.
func (p *Pages) made(ctx context.Context, v inspect.Job) *sink.Manifest {
	files, name, err := p.o.Find(ctx, v.ID, v.File)
	if err != nil {
		p.o.Log.Debug("file for a waiting page", "job", v.ID, "err", err)
		return nil
	}
	m, err := sink.ReadManifest(ctx, files, name)
	if err != nil {
		p.o.Log.Debug("manifest for a waiting page", "job", v.ID, "err", err)
		return nil
	}
	return &m
}
