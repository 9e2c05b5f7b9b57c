package http

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/ask"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// memo has the vendor's jobs of a task, over all of its tries.
type memo struct {
	Started int64 `json:"started"`       // Unix ms of the first try
	All     bool  `json:"all,omitempty"` // every batch has its job
	Jobs    []job `json:"jobs"`          // by batch
}

// job is a job of the API.
type job struct {
	ID    string `json:"id,omitempty"`
	Asked bool   `json:"asked,omitempty"` // a request was sent: the job may exist
	Done  bool   `json:"done,omitempty"`
}

// errTotal is the cause of a task that exceeded its total.
var errTotal = errors.New("the total of the listener is over")

// job reads the rows that a job of the API makes.
func (r *reader) job(ctx context.Context) error {
	m := memo{Started: time.Now().UnixMilli()}
	if r.task.Memo != nil {
		if err := json.Unmarshal(r.task.Memo, &m); err != nil {
			return listeners.Permanent(fmt.Errorf("the memo of an earlier try: %w", err))
		}
	}
	r.memo = &m
	ctx, cancel := context.WithDeadlineCause(ctx, time.UnixMilli(m.Started).Add(r.fields.Total), errTotal)
	defer cancel()
	err := r.jobs(ctx)
	if errors.Is(context.Cause(ctx), errTotal) && err != nil && !listeners.Lost(err) {
		r.abandon(ctx)
		return r.over(err)
	}
	return err
}

// over returns the error of a task that exceeded its total, with its last state.
func (r *reader) over(err error) error {
	l, last := r.task.Listener, r.task.Before
	if !errors.Is(err, errTotal) {
		last = err.Error()
	}
	if last = strings.TrimPrefix(strings.TrimPrefix(last, "waits for "), "API "+l.Source+": "); last != "" {
		last = "; last: " + last
	}
	return listeners.Permanent(fmt.Errorf("API %s: not done within %s, the total of the listener: raise it, or request less%s", l.Source, r.fields.Total, last))
}

// abandon cancels the open jobs, best effort.
func (r *reader) abandon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTime)
	defer cancel()
	for i, j := range r.memo.Jobs {
		if r.batch = i; j.ID != "" && !j.Done {
			_ = r.source.end(ctx, r)
		}
	}
}

// abandonTime is the timeout of abandon.
const abandonTime = 10 * time.Second

// jobs creates missing jobs, polls open ones, and reads their rows when all are done.
func (r *reader) jobs(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if !r.memo.All {
		if err := r.submitAll(ctx); err != nil {
			return err
		}
	}
	if err := r.look(ctx); err != nil {
		return err
	}
	r.values = nil
	for i := range r.memo.Jobs {
		r.batch = i
		if err := r.pages(ctx); err != nil {
			return err
		}
	}
	return nil
}

// remember stores the memo.
func (r *reader) remember(ctx context.Context) error {
	text, err := json.Marshal(r.memo)
	if err != nil {
		return listeners.Permanent(err)
	}
	if len(text) > maxMemo {
		return listeners.Permanent(fmt.Errorf("more jobs at API %s than a memo can contain (%d): raise the batch of the listener", r.task.Listener.Source, len(r.memo.Jobs)))
	}
	return r.task.Remember(ctx, text)
}

// maxMemo leaves space for what a Runner adds.
const maxMemo = 60 << 10

// look polls the open jobs. It returns a Wait while one is open.
func (r *reader) look(ctx context.Context) error {
	p := r.fields.Poll
	var open []string
	wait, changed := p.Every, false
	for i := range r.memo.Jobs {
		if r.memo.Jobs[i].Done {
			continue
		}
		r.batch = i
		asked, err := r.request(p.Request)
		if err != nil {
			return err
		}
		if err := r.waitForRate(ctx); err != nil {
			return err
		}
		document, header, err := r.source.short(ctx, asked)
		if err != nil {
			if changed {
				err = errors.Join(r.remember(ctx), err)
			}
			return r.source.patient(err)
		}
		value, _ := p.Status.Find(document)
		status, ok := scalar(value)
		switch {
		case !ok:
			return listeners.Permanent(fmt.Errorf("API %s: %s: %s is %s, which is not a status", r.source.api.Name, asked.what, p.Status, shown(value)))
		case slices.Contains(p.Done, status):
			r.memo.Jobs[i].Done, changed = true, true
		case slices.Contains(p.Failed, status):
			return listeners.Permanent(r.failed(status, document))
		case len(p.Working) > 0 && !slices.Contains(p.Working, status):
			return listeners.Permanent(fmt.Errorf("API %s: job %s: %s is %s, which is in none of done, failed and working: add it to one of them",
				r.source.api.Name, r.name(), p.Status, shown(value)))
		default:
			open = append(open, fmt.Sprintf("job %s is %s", r.name(), shown(value)))
			wait = max(wait, ask.RetryAfter(header, time.Now()))
		}
	}
	if changed {
		if err := r.remember(ctx); err != nil {
			return err
		}
	}
	if len(open) == 0 {
		return nil
	}
	what := fmt.Sprintf("API %s: %s", r.source.api.Name, open[0])
	if n := len(open); n > 1 {
		what += fmt.Sprintf(", and %d more", n-1)
	}
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)+time.Millisecond)
	}
	return listeners.Wait(wait, what)
}

// failed returns the error of a failed job.
func (r *reader) failed(status string, document any) error {
	why := ""
	if value, ok := r.fields.Poll.Error.Find(document); ok && value != nil {
		text, single := scalar(value)
		if !single {
			text = shown(value)
		}
		why = ": " + r.source.excerpt(text)
	}
	return fmt.Errorf("API %s: job %s is %s%s", r.source.api.Name, r.name(), status, why)
}

// name returns the id of the current job as one short line.
func (r *reader) name() string {
	return report.ShortenTo(r.source.excerpt(r.memo.Jobs[r.batch].ID), 100)
}
