package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/inspect/watch"
	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/web"
)

const (
	// MaxStreams is the maximum number of clients that follow jobs at once.
	MaxStreams = 64
	// maxStreamsOf is the maximum for one user or service, so that one cannot use all streams.
	maxStreamsOf = MaxStreams / 2
	// streamTime is the maximum duration of a stream. After it a client must reconnect, so that forgotten
	// streams end.
	streamTime = time.Hour
)

// events sends the state of a job as server-sent events, until its record is final.
func (a *API) events(w http.ResponseWriter, r *http.Request) error {
	name := access.Of(r.Context()).Name
	if !a.streams.Open(name) {
		return problem{
			Status: http.StatusServiceUnavailable, Code: "streams",
			Detail: fmt.Sprintf("at most %d clients may follow jobs, %d of one name", MaxStreams, maxStreamsOf),
			Remedy: "GET …/jobs/{id} every few seconds instead, or try again later",
		}
	}
	defer a.streams.Close(name)
	id := r.PathValue("id")
	if _, err := a.record(r, id); err != nil {
		return err
	}
	to := web.NewStream(w)
	if r.Method == http.MethodHead {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.streamTime)
	defer cancel()
	ctx, done := access.UntilLogout(ctx)
	defer done()
	f := &follower{Stream: to, who: access.Of(ctx)}
	if _, err := watch.Jobs(ctx, a.o.Inspect, []string{id}, f); err != nil && f.Err() == nil && ctx.Err() == nil {
		_ = f.send("problem", a.problemOf(r, err))
	}
	return nil
}

// follower sends the state of a job to a client.
type follower struct {
	*web.Stream
	who  access.Who
	last []byte // the job as it was sent last
}

var _ watch.Watcher = (*follower)(nil)

// Show implements watch.Watcher. It sends the job if it has changed. The record may get another owner or tenant while
// the client follows it; a deleted one has none.
func (f *follower) Show(v inspect.Job) error {
	if v.Status != report.Deleted && !f.who.Can(report.See, v.Report, v.Owner, v.Tenant) {
		return engine.ErrNoRecord
	}
	if !f.who.Everywhere(report.See) {
		v = v.Neutral()
	}
	same := v
	same.Changed, same.Created, same.Ended = nil, nil, nil // they are computed from ages and vary a little
	text, err := json.Marshal(same)
	switch {
	case err != nil:
		return err
	case v.Status.Final():
		return f.send("end", v)
	case !bytes.Equal(text, f.last):
		f.last = text
		return f.send("job", v)
	}
	return f.Beat(web.Heartbeat)
}

// Event implements watch.Watcher. It does nothing: Show shows the change.
func (f *follower) Event(watch.Event) error { return nil }

func (f *follower) send(event string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return f.Send(event, string(text))
}
