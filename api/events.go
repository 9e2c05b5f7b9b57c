package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/fanfold/fanfold/inspect"
)

const (
	// MaxStreams is the maximum number of clients that follow jobs at once.
	MaxStreams = 64
	// streamTime is the maximum duration of a stream. After it a client must reconnect, so that forgotten
	// streams end.
	streamTime = time.Hour
	// heartbeat is how often an idle stream sends a comment.
	heartbeat = 15 * time.Second
	// writeTimeout is how long a client may take to receive a message.
	writeTimeout = 10 * time.Second
)

// events sends the state of a job as server-sent events, until its record is final.
func (a *API) events(w http.ResponseWriter, r *http.Request) error {
	select {
	case a.streams <- struct{}{}:
		defer func() { <-a.streams }()
	default:
		return problem{Status: http.StatusServiceUnavailable, Code: "streams", Detail: fmt.Sprintf("%d clients already follow jobs", MaxStreams), Remedy: "GET …/jobs/{id} every few seconds instead, or try again later"}
	}
	id := r.PathValue("id")
	if _, err := a.record(r, id); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	if r.Method == http.MethodHead {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.streamTime)
	defer cancel()
	s := &stream{w: w, to: http.NewResponseController(w)}
	if _, err := a.o.Inspect.Watch(ctx, []string{id}, s); err != nil && s.err == nil && ctx.Err() == nil {
		_ = s.send("problem", a.problemOf(r, err))
	}
	return nil
}

// stream sends the state of a job to a client.
type stream struct {
	w    http.ResponseWriter
	to   *http.ResponseController
	last []byte    // the job as it was sent last
	at   time.Time // of the last write
	err  error     // of a write: the client has disconnected
}

var _ inspect.Watcher = (*stream)(nil)

// Show implements inspect.Watcher. It sends the job if it has changed.
func (s *stream) Show(v inspect.Job) error {
	same := v
	same.Changed, same.Created, same.Ended = nil, nil, nil // they are computed from ages and vary a little
	text, err := json.Marshal(same)
	switch {
	case err != nil:
		return err
	case v.Status.Final():
		return s.send("end", v)
	case !bytes.Equal(text, s.last):
		s.last = text
		return s.send("job", v)
	case time.Since(s.at) > heartbeat:
		return s.write(": \n\n")
	}
	return nil
}

// Event implements inspect.Watcher. It does nothing: Show shows the change.
func (s *stream) Event(inspect.Event) error { return nil }

func (s *stream) send(event string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.write("event: " + event + "\ndata: " + string(text) + "\n\n")
}

func (s *stream) write(text string) error {
	s.at = time.Now()
	if s.err = s.to.SetWriteDeadline(s.at.Add(writeTimeout)); s.err == nil {
		_, s.err = s.w.Write([]byte(text))
	}
	if s.err == nil {
		s.err = s.to.Flush()
	}
	return s.err
}
