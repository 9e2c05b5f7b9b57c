package waiting

import (
	"context"
	"errors"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/web"
)

const (
	// maxFactsAge is the maximum age of facts on a page. Within it, several browsers and streams cost one query.
	maxFactsAge = 1500 * time.Millisecond
	// queryTimeout bounds the queries for a page.
	queryTimeout = 10 * time.Second
	// maxCachedFacts is the maximum number of records in the cache.
	maxCachedFacts = 2000
)

// factsOf returns what the link of a pass may show. If another record has the id now, the record of the
// link was deleted.
func (p *Pages) factsOf(ctx context.Context, pass Pass) (facts, error) {
	f, err := p.facts.Get(ctx, pass.ID)
	if err == nil && f.Mark != pass.Mark {
		f = facts{Job: inspect.Job{ID: pass.ID, Status: report.Deleted}}
	}
	return f, err
}

// query reads the facts from Redis and the records, and from the sink if the record has a file.
func (p *Pages) query(ctx context.Context, id string) (facts, error) {
	v, err := p.o.Inspect.Jobs.Get(ctx, id)
	switch {
	case errors.Is(err, engine.ErrNoRecord):
		v = inspect.Job{ID: id, Status: report.Deleted}
	case err != nil && !v.Status.Final(): // a final record is enough
		return facts{}, err
	}
	// Read the mark after the record: a row that is replaced in between has the mark of the new one.
	marks, err := p.o.Inspect.Records.Marks(ctx, id)
	if err != nil {
		return facts{}, err
	}
	f := facts{Job: v, Mark: marks[id], Now: time.Now()}
	switch {
	case v.Status == report.Pending:
		if f.Position, err = p.queues.position(ctx, p.o.Inspect.Scripts.Of(id), id); err == nil && v.SharedWith != "" {
			f.Leader, err = leader(ctx, p.o.Inspect, v.SharedWith)
		}
		return f, err
	case v.Status == report.Processing && v.Started != nil:
		r := run{attempt: v.Attempt, started: *v.Started, retryAt: retryAt(v), paused: len(v.Paused) > 0}
		if r.took, err = p.past.Of(ctx, v.Report); err != nil { // some partitions may have answered
			p.o.Log.Warn("cannot read the durations of all earlier runs", "err", err)
		}
		f.Left = p.estimates.of(id, r, f.Now)
	case v.Status.Final():
		p.estimates.forget(id)
		if v.Status.HasFile() && !report.Skipped(v.Status, v.File, v.Rows) {
			f.Manifest, f.Elsewhere = p.manifest(ctx, v)
		}
	}
	return f, nil
}

// leader returns the job for whose file a record waits; nil: it does not exist any more.
func leader(ctx context.Context, in *inspect.Inspector, id string) (*inspect.Job, error) {
	v, err := in.Jobs.Get(ctx, id)
	if errors.Is(err, engine.ErrNoRecord) {
		return nil, nil
	}
	return &v, err
}

// retryAt returns when the last failed step is retried; zero: none failed.
func retryAt(v inspect.Job) (at time.Time) {
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

// manifest reads the manifest of a file; nil: it cannot be read. It also tells whether the sink
// cannot have the file.
func (p *Pages) manifest(ctx context.Context, v inspect.Job) (m *sink.Manifest, elsewhere bool) {
	found, err := p.o.Find(ctx, v.ID, v.File)
	if err != nil {
		p.o.Log.Debug("cannot find the file for a waiting page", "job", v.ID, "err", err)
		return nil, errors.Is(err, web.ErrElsewhere)
	}
	read, err := sink.ReadManifest(ctx, found.Sink, found.Name)
	if err != nil {
		p.o.Log.Debug("cannot read the manifest for a waiting page", "job", v.ID, "err", err)
		return nil, false
	}
	return &read, false
}
