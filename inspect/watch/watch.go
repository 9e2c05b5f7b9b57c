// Package watch follows jobs until their records are final.
package watch

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/inspect/why"
	"github.com/fanfold/fanfold/report"
)

// Watcher shows the progress of jobs.
type Watcher interface {
	// Show shows the state of a job, which may be unchanged.
	Show(v inspect.Job) error
	// Event shows an event of a job.
	Event(e Event) error
}

const (
	// pollEvery is how often jobs are read without an event: events can be trimmed, and the row
	// count of a running listener has none.
	pollEvery = 500 * time.Millisecond
	// maxPolled is the maximum number of jobs that every poll reads. Of more jobs, it reads those with
	// events, and finds final records by one query.
	maxPolled = 10
	// whyAfter is how long a job may wait for its start until it is found out why, and how often it does.
	whyAfter = 3 * time.Second
)

// Jobs shows jobs until their records are final, and returns their last states. It also ends a job
// whose id is quarantined meanwhile: its state has the reason as Error and is not final.
func Jobs(ctx context.Context, in *inspect.Inspector, ids []string, show Watcher) ([]inspect.Job, error) {
	return More(ctx, in, ids, show, func(context.Context, int) ([]string, error) { return nil, nil })
}

// More is Jobs for jobs that are not all known yet: whenever some have been shown, more returns the ids that come
// next, and gets the number of jobs that have not ended. It ends when all have ended and there are no more.
func More(ctx context.Context, in *inspect.Inspector, ids []string, show Watcher,
	more func(ctx context.Context, open int) ([]string, error)) ([]inspect.Job, error) {
	follow, err := follow(ctx, in, ids)
	if err != nil {
		return nil, err
	}
	ended, ours := map[string]inspect.Job{}, map[string]bool{}
	for _, id := range ids {
		ours[id] = true
	}
	changed, started := ids, startReasons{}
	for first := true; ; first = false {
		var waiting []string
		for _, id := range ids {
			if _, ok := ended[id]; !ok {
				waiting = append(waiting, id)
			}
		}
		if len(waiting) > maxPolled && !first {
			// One query finds those that have ended.
			records, err := in.Records.Read(ctx, waiting)
			if err != nil {
				return nil, err
			}
			waiting = slices.DeleteFunc(waiting, func(id string) bool {
				r, ok := records[id]
				return ok && !r.Status.Final() && !slices.Contains(changed, id) && follow.refused[id] == ""
			})
		}
		for _, id := range waiting {
			v, err := watched(ctx, in, id)
			if err != nil {
				return nil, err
			}
			var kind why.Kind
			if v.Waits, kind, err = started.of(ctx, in, v, len(waiting)); err != nil {
				return nil, err
			}
			v.Waiting = string(kind)
			if err := show.Show(v); err != nil {
				return nil, err
			}
			if reason := follow.refused[id]; v.Status.Final() { // DELETED, too
				ended[id] = v
			} else if reason != "" && v.Job == "" {
				v.Error = "its id was quarantined: " + reason
				ended[id] = v
			}
		}
		next, err := more(ctx, len(ours)-len(ended))
		if err != nil {
			return nil, err
		}
		if err := follow.add(ctx, in, next); err != nil {
			return nil, err
		}
		for _, id := range next {
			ours[id] = true
		}
		if ids = append(ids[:len(ids):len(ids)], next...); len(ended) == len(ours) {
			break
		}
		if err := follow.quarantined(ctx, ids); err != nil {
			return nil, err
		}
		if changed, err = follow.next(ctx, pollEvery, func(e Event) (bool, error) {
			if _, final := ended[e.ID]; final || !ours[e.ID] {
				return false, nil
			}
			return true, show.Event(e)
		}); err != nil {
			return nil, err
		}
	}
	var views []inspect.Job
	for _, id := range ids {
		views = append(views, ended[id])
	}
	return views, nil
}

// startReasons caches why the jobs have not started, by id.
type startReasons map[string]startReason

type startReason struct {
	asked time.Time
	says  string
	kind  why.Kind
}

// of returns why a job has not started; empty: it has, or it has waited for less than whyAfter, or too many jobs
// are watched to ask for each.
func (s startReasons) of(ctx context.Context, in *inspect.Inspector, v inspect.Job,
	jobs int) (string, why.Kind, error) {
	one, ok := s[v.ID]
	switch {
	case v.Job != "" || v.Status != report.Pending || jobs > maxPolled:
		delete(s, v.ID)
		return "", "", nil
	case !ok:
		s[v.ID] = startReason{asked: time.Now()}
		return "", "", nil
	case time.Since(one.asked) < whyAfter:
		return one.says, one.kind, nil
	}
	verdict, err := why.Of(ctx, in, v.ID)
	s[v.ID] = startReason{time.Now(), verdict.Summary, verdict.Kind}
	return verdict.Summary, verdict.Kind, err
}

// watched is Job for a record that existed and may have been deleted.
func watched(ctx context.Context, in *inspect.Inspector, id string) (inspect.Job, error) {
	v, err := in.Jobs.Get(ctx, id)
	if errors.Is(err, engine.ErrNoRecord) {
		return inspect.Job{ID: id, Status: report.Deleted, Error: "the record was deleted"}, nil
	}
	return v, err
}
