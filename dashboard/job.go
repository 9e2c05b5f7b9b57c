package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/inspect/plan"
	"github.com/fanfold/fanfold/inspect/why"
	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/internal/aged"
	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
)

// jobPage is the content of the page of a job.
type jobPage struct {
	inspect.Job
	Why      why.Verdict
	Timeline *timeline   // of its steps; nil: it is not known
	Plan     *picture    // with what the job found; nil: it is not known
	Acts     []audit.Act // the newest ones on the job
}

// ErrorOnce returns the error of the record, unless Why says it.
func (p jobPage) ErrorOnce() string {
	for _, says := range append([]string{p.Why.Summary}, p.Why.Details...) {
		if strings.Contains(says, p.Error) {
			return ""
		}
	}
	return p.Error
}

// neutral returns the content for who does not see every record: without the texts of Why, which name other jobs and
// say what servers do.
func (p jobPage) neutral() jobPage {
	of := p.Why
	p.Job = p.Job.Neutral()
	p.Why = why.Verdict{Now: of.Now, Kind: of.Kind, Summary: "The job is not done yet.", Delayed: of.Delayed}
	if p.Status.Final() {
		p.Why.Summary = "The record is " + string(p.Status) + "."
	}
	for _, s := range of.Steps {
		_, s.Says = chipOfStep(s, of.Now)
		p.Why.Steps = append(p.Why.Steps, s)
	}
	return p
}

// Class returns the class of the chip of a step's state: a step that failed and is to be retried is not just
// waiting.
func (p jobPage) Class(l inspect.Listener) string {
	for _, s := range p.Why.Steps {
		if s.Name == l.Name && l.State == "waiting" {
			state, _ := chipOfStep(s, p.Why.Now)
			return state
		}
	}
	return l.State
}

// Note returns what an open step waits for, as Why says.
func (p jobPage) Note(l inspect.Listener) string {
	for _, s := range p.Why.Steps {
		if s.Name == l.Name {
			return s.Says
		}
	}
	return cmp.Or(l.Origin(time.Now()), l.Why)
}

// jobPages makes the pages of running jobs and of one job.
type jobPages struct {
	o         Options
	contents  aged.Cache[string, jobPage] // of the pages of one job, by id
	manifests aged.Cache[madeFile, sink.Manifest]
	matches   aged.Cache[parameter, match]
	reasons   reasons
	queries   queries
}

const (
	// maxVerdictAge is the maximum age of the state of a job on its page. Within it, several browsers cost one
	// query.
	maxVerdictAge = 2 * time.Second
	// maxVerdicts is the maximum number of cached states.
	maxVerdicts = 1000
)

func newJobPages(o Options, searches queries) *jobPages {
	p := &jobPages{o: o, queries: searches}
	p.contents = aged.Cache[string, jobPage]{MaxAge: maxVerdictAge, Max: maxVerdicts, Timeout: pageTimeout, Ask: p.read}
	p.manifests = aged.Cache[madeFile, sink.Manifest]{
		MaxAge: maxManifestAge, Max: maxManifests, Timeout: pageTimeout, Ask: p.manifest,
	}
	p.matches = aged.Cache[parameter, match]{MaxAge: maxMatchAge, Max: maxMatchings, Timeout: pageTimeout, Ask: p.match}
	return p
}

// one is the page of a job.
func (p *jobPages) one(ctx context.Context, r *http.Request, _ *sample) (string, any, error) {
	id := r.PathValue("id")
	if !report.ValidID(id) {
		return "", nil, fmt.Errorf("%w: an id is 1 to 64 of 0-9, A-Z, a-z, _ and -", errNotFound)
	}
	v, err := p.contents.Get(ctx, id)
	if !access.Of(ctx).Everywhere(report.See) {
		v = v.neutral()
	}
	return "Job " + id, v, err
}

// jobTimeout bounds the time for the record and the state of a job. Then its page has only its verdict, which
// says which server does not answer.
const jobTimeout = 4 * time.Second

// maxJobActs is how many acts the page of a job shows.
const maxJobActs = 10

// read reads the content of the page of a job.
func (p *jobPages) read(ctx context.Context, id string) (jobPage, error) {
	var verdict why.Verdict
	var failed error
	var group sync.WaitGroup
	group.Go(func() { verdict, failed = why.Of(ctx, p.o.Inspect, id) })
	quick, cancelQuick := context.WithTimeout(ctx, jobTimeout)
	defer cancelQuick()
	v, err := p.o.Inspect.Jobs.Get(quick, id)
	if err == nil {
		err = p.o.Inspect.Jobs.Times(quick, &v)
	}
	group.Wait()
	if failed == nil && verdict.Kind != why.KindNoRecord {
		err = nil // the verdict says that a server does not answer or the record is not committed yet
	}
	m := p.madeFrom(ctx, v)
	if m != nil {
		v.AddManifest(*m)
	}
	// If it fails, the verdict says that Redis is away.
	acts, _ := p.o.Inspect.Acts.List(quick, inspect.ActFilter{On: []string{id}}, maxJobActs)
	return jobPage{v, verdict, newTimeline(v, time.Now()), p.plan(v, m), acts}, cmp.Or(err, failed)
}

// madeFile is the file of a record.
type madeFile struct{ id, file string }

const (
	// maxManifestAge is the maximum age of a manifest, which does not change.
	maxManifestAge = 10 * time.Minute
	// maxManifests is the maximum number of cached manifests.
	maxManifests = 100
	// manifestTimeout is how long a page waits for a manifest. Then it shows neither the plan nor the steps.
	manifestTimeout = 2 * time.Second
)

// manifest reads what a file was made from.
func (p *jobPages) manifest(ctx context.Context, of madeFile) (sink.Manifest, error) {
	at, err := p.o.Find(ctx, of.id, of.file)
	if err != nil {
		return sink.Manifest{}, err
	}
	if at.Made.ID != of.id && !at.Shared {
		return sink.Manifest{}, fmt.Errorf("%s was not made by a job of %s", of.file, of.id)
	}
	return sink.ReadManifest(ctx, at.Sink, at.Name)
}

// madeFrom returns what the file of a job was made from; nil: it has none, or its manifest cannot be read.
func (p *jobPages) madeFrom(ctx context.Context, v inspect.Job) *sink.Manifest {
	if !v.Status.HasFile() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, manifestTimeout)
	defer cancel()
	m, err := p.manifests.Get(ctx, madeFile{v.ID, v.File})
	if err != nil {
		return nil // its file may be deleted, or the sink does not answer
	}
	return &m
}

// plan returns the plan of a job that runs or has a file; nil: what it found is not known.
func (p *jobPages) plan(v inspect.Job, m *sink.Manifest) *picture {
	r := p.o.Inspect.Config.Reports[v.Report]
	if r == nil {
		return nil
	}
	of, err := plan.Of(r)
	if err != nil {
		return nil // the configuration is valid
	}
	switch {
	case m != nil:
		of.AddManifest(*m)
	case v.Definition != "" && !v.Status.HasFile() && !v.Orphan:
		of.AddJob(v, func(l inspect.Listener) string { return l.State })
		if of.Other != "" {
			return nil
		}
	default:
		return nil
	}
	return newPicture(of)
}
