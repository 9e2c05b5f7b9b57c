package http

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/ask"
	"github.com/fanfold/fanfold/listeners"
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

// jobs reads the rows that jobs of the API make.
type jobs struct {
	*reader
	memo memo
}

// errTotal is the cause of a task that exceeded its total.
var errTotal = errors.New("the total of the listener is over")

// readJobs reads the rows that jobs of the API make, over all tries.
func (r *reader) readJobs(ctx context.Context) error {
	js := &jobs{r, memo{Started: time.Now().UnixMilli()}}
	if r.task.Memo != nil {
		if err := json.Unmarshal(r.task.Memo, &js.memo); err != nil {
			return listeners.Permanent(fmt.Errorf("the memo of an earlier try: %w", err))
		}
	}
	ctx, cancel := context.WithDeadlineCause(ctx, time.UnixMilli(js.memo.Started).Add(r.fields.Total), errTotal)
	defer cancel()
	err := js.read(ctx)
	if errors.Is(context.Cause(ctx), errTotal) && err != nil && !listeners.Lost(err) {
		js.abandon(ctx)
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
	return listeners.Permanent(fmt.Errorf("API %s: not done within %s, the total_timeout of the listener: raise it, or request less%s", l.Source, r.fields.Total, last))
}

// part is what requests about a job are about.
func (js *jobs) part(i int) part { return part{batch: i, job: js.memo.Jobs[i].ID} }

// abandon cancels the open jobs, best effort.
func (js *jobs) abandon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTime)
	defer cancel()
	for i, j := range js.memo.Jobs {
		if j.ID != "" && !j.Done {
			_ = js.end(ctx, js.part(i))
		}
	}
}

// abandonTime is the timeout of abandon.
const abandonTime = 10 * time.Second

// read creates missing jobs, polls open ones, and reads their rows when all are done.
func (js *jobs) read(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !js.memo.All {
		if err := js.submitAll(ctx); err != nil {
			return err
		}
	}
	if err := js.poll(ctx); err != nil {
		return err
	}
	for i := range js.memo.Jobs {
		if err := js.readPages(ctx, js.part(i)); err != nil {
			return err
		}
	}
	return nil
}

// remember stores the memo.
func (js *jobs) remember(ctx context.Context) error {
	text, err := json.Marshal(js.memo)
	if err != nil {
		return listeners.Permanent(err)
	}
	if len(text) > maxMemo {
		return listeners.Permanent(fmt.Errorf("more jobs at API %s than a memo can contain (%d): raise the batch of the listener", js.task.Listener.Source, len(js.memo.Jobs)))
	}
	return js.task.Remember(ctx, text)
}

// maxMemo leaves space for what a Runner adds.
const maxMemo = 60 << 10

// poll polls the open jobs. It returns a Wait while one is open.
func (js *jobs) poll(ctx context.Context) error {
	p, changed := js.fields.Poll, false
	var open []string
	wait := p.Every
	for i, j := range js.memo.Jobs {
		if j.Done {
			continue
		}
		status, document, header, err := js.status(ctx, js.part(i))
		if err != nil {
			if changed {
				err = errors.Join(js.remember(ctx), err)
			}
			return err
		}
		name := js.source.shorten(j.ID)
		value, _ := p.Status.Find(document)
		switch {
		case slices.Contains(p.Done, status):
			js.memo.Jobs[i].Done, changed = true, true
		case slices.Contains(p.Failed, status):
			return listeners.Permanent(fmt.Errorf("API %s: job %s is %s%s", js.source.api.Name, name, status,
				js.why(document)))
		case len(p.Working) > 0 && !slices.Contains(p.Working, status):
			return listeners.Permanent(fmt.Errorf("API %s: job %s: %s is %s, which is in none of done, failed and working: add it to one of them",
				js.source.api.Name, name, p.Status, shown(value)))
		default:
			open = append(open, fmt.Sprintf("job %s is %s", name, shown(value)))
			wait = max(wait, ask.RetryAfter(header, time.Now()))
		}
	}
	if changed {
		if err := js.remember(ctx); err != nil {
			return err
		}
	}
	if len(open) == 0 {
		return nil
	}
	what := fmt.Sprintf("API %s: %s", js.source.api.Name, open[0])
	if n := len(open); n > 1 {
		what += fmt.Sprintf(", and %d more", n-1)
	}
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)+time.Millisecond)
	}
	return listeners.Wait(wait, what)
}

// status requests the status of a job.
func (js *jobs) status(ctx context.Context, p part) (status string, document any, header http.Header, err error) {
	poll := js.fields.Poll
	asked, err := js.request(poll.Request, p)
	if err != nil {
		return "", nil, nil, err
	}
	if err := js.waitForTurn(ctx); err != nil {
		return "", nil, nil, err
	}
	document, header, err = js.short(ctx, asked)
	if err != nil {
		return "", nil, nil, patient(err)
	}
	value, _ := poll.Status.Find(document)
	status, ok := scalar(value)
	if !ok {
		err = listeners.Permanent(fmt.Errorf("API %s: %s: %s is %s, which is not a status", js.source.api.Name,
			asked.what, poll.Status, shown(value)))
	}
	return status, document, header, err
}

// why returns the reason of a failed job, with a colon; empty: the answer has none.
func (js *jobs) why(document any) string {
	value, ok := js.fields.Poll.Error.Find(document)
	if !ok || value == nil {
		return ""
	}
	text, single := scalar(value)
	if !single {
		text = shown(value)
	}
	return ": " + js.source.excerpt(text)
}
