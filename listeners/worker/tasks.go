package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/web/problems"
)

// Claimed is the answer to a claim.
type Claimed struct {
	Task       string          `json:"task"` // address
	ID         string          `json:"id"`
	Attempt    int64           `json:"attempt"`
	Report     string          `json:"report"`
	Definition string          `json:"definition"`
	Parameters json.RawMessage `json:"parameters"`
	Columns    []Column        `json:"columns"`
	Silence    int64           `json:"silence_ms"`
	Timeout    int64           `json:"timeout_ms"`
	Values     []Values        `json:"values"`             // of earlier stages
	Segments   string          `json:"segments,omitempty"` // what the URLs of segments begin with
}

// Column is a column that the worker delivers.
type Column struct {
	Name string      `json:"name"`
	Type report.Kind `json:"type"`
}

// Values are what a listener of an earlier stage has found.
type Values struct {
	Listener string   `json:"listener"`
	Columns  []string `json:"columns"`
	Pages    int64    `json:"pages"` // of every column
	URL      string   `json:"url"`   // /<column>/<page> follows
}

const (
	// maxWait is the maximum time that a claim waits for a task.
	maxWait = 30 * time.Second
	// pollEvery is how often it polls.
	pollEvery = 100 * time.Millisecond
)

// claim answers with a task, or with 204 if there is none within the time that the request waits.
func (h *Handler) claim(w http.ResponseWriter, r *http.Request) error {
	listener := r.PathValue("listener")
	if err := h.tokens.check(w, r, listener); err != nil {
		return err
	}
	wait, err := waitOf(r)
	if err != nil {
		return err
	}
	select {
	case h.claims <- struct{}{}:
		defer func() { <-h.claims }()
	default:
		return busy(fmt.Sprintf("%d workers already wait for tasks", maxClaims))
	}
	// A deadline for reading ends the request.
	if err := deadlines(w, wait+2*applyTime, applyTime); err != nil {
		return err
	}
	end := time.NewTimer(wait)
	defer end.Stop()
	if wait > 0 {
		select {
		case h.polls[listener] <- struct{}{}:
			defer func() { <-h.polls[listener] }()
		case <-end.C: // another request has polled all the time
			w.WriteHeader(http.StatusNoContent)
			return nil
		case <-r.Context().Done():
		}
	}
	for r.Context().Err() == nil { // a worker that has gone gets no task
		task, err := h.next(r, listener)
		if err != nil {
			return err
		}
		if task != nil {
			h.o.Log.Info("task claimed", "job", task.ID, "attempt", task.Attempt, "listener", listener,
				"worker", task.Worker, "from", r.RemoteAddr)
			return answer(w, h.claimed(task))
		}
		select {
		case <-end.C:
			w.WriteHeader(http.StatusNoContent)
			return nil
		case <-r.Context().Done():
		case <-time.After(pollEvery):
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// deadlines sets the time that a request has until its body is read, and a little more than the time of its work for
// the answer.
func deadlines(w http.ResponseWriter, reading, work time.Duration) error {
	to, now := http.NewResponseController(w), time.Now()
	return errors.Join(to.SetReadDeadline(now.Add(reading)), to.SetWriteDeadline(now.Add(reading+work+applyTime)))
}

// next claims a task; nil: there is none.
func (h *Handler) next(r *http.Request, listener string) (*listeners.Claimed, error) {
	ctx, cancel := h.changing(r, h.patience)
	defer cancel()
	return h.o.Desk.Claim(ctx, listener)
}

// claimed returns the answer to a claim.
func (h *Handler) claimed(task *listeners.Claimed) Claimed {
	c := Claimed{
		Task: h.o.Root + "/tasks/" + task.String(), ID: task.ID, Attempt: task.Attempt, Report: task.Report,
		Definition: task.Definition, Parameters: task.Parameters,
		Silence: task.Listener.Silence.Milliseconds(), Timeout: task.Listener.Timeout.Milliseconds(),
		Values: []Values{}, Segments: task.Segments,
	}
	for i, name := range task.Listener.Columns {
		c.Columns = append(c.Columns, Column{name, task.Listener.Types[i]})
	}
	for _, from := range task.Earlier {
		c.Values = append(c.Values, Values{from.Listener, append([]string{}, from.Columns...), from.Pages,
			c.Task + "/values/" + from.Listener})
	}
	return c
}

// waitOf returns how long a claim waits.
func waitOf(r *http.Request) (time.Duration, error) {
	text := r.URL.Query().Get("wait")
	if text == "" {
		return 0, nil
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait < 0 || wait > maxWait {
		return 0, problems.Problem{
			Status: http.StatusUnprocessableEntity, Code: "input",
			Detail: "wait is not a time up to 30s",
			Remedy: "Write a time such as wait=20s",
		}
	}
	return wait, nil
}

// maxNumber is the maximum number of a page.
const maxNumber = 999_999_999

// pageOf returns the number of a page.
func pageOf(r *http.Request) (int64, error) {
	page, err := strconv.ParseInt(r.PathValue("page"), 10, 64)
	if err != nil || page < 0 || page > maxNumber {
		return 0, problems.Problem{
			Status: http.StatusUnprocessableEntity, Code: "input",
			Detail: fmt.Sprintf("%.80q is not the number of a page", r.PathValue("page")),
			Remedy: "Number pages from 0",
		}
	}
	return page, nil
}

// alive renews the lease of a task.
func (h *Handler) alive(w http.ResponseWriter, r *http.Request) error {
	return h.change(w, r, h.patience, h.o.Desk.Alive)
}

// values answers with a page of a column of an earlier stage.
func (h *Handler) values(w http.ResponseWriter, r *http.Request) error {
	task, err := h.held(w, r)
	if err != nil {
		return err
	}
	page, err := pageOf(r)
	if err != nil {
		return err
	}
	leave, err := h.enter(r)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(r.Context(), h.patience)
	defer cancel()
	array, err := h.o.Desk.Values(ctx, task, r.PathValue("from"), r.PathValue("column"), page)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(array)
	return nil
}

// rows stores a page of rows.
func (h *Handler) rows(w http.ResponseWriter, r *http.Request) error {
	return h.change(w, r, h.patience, func(ctx context.Context, task listeners.Held) error {
		page, err := pageOf(r)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return incomplete(err)
		}
		return h.o.Desk.Rows(ctx, task, page, body)
	})
}

// segment lists a segment that the worker has written into the spool, in place of a page.
func (h *Handler) segment(w http.ResponseWriter, r *http.Request) error {
	return h.change(w, r, segmentTime, func(ctx context.Context, task listeners.Held) error {
		number, err := pageOf(r)
		if err != nil {
			return err
		}
		var body struct {
			URL string `json:"url"`
		}
		const example = `{"url": "the URL of the segment"}`
		if err := read(r, &body, example); err != nil {
			return err
		}
		if body.URL == "" {
			return problems.Problem{
				Status: http.StatusUnprocessableEntity, Code: "input",
				Detail: "url is missing",
				Remedy: "Send an object such as " + example,
			}
		}
		return h.o.Desk.Segment(ctx, task, number, body.URL)
	})
}

// done completes a task.
func (h *Handler) done(w http.ResponseWriter, r *http.Request) error {
	return h.change(w, r, h.patience, func(ctx context.Context, task listeners.Held) error {
		var body struct {
			Pages *int64 `json:"pages"`
		}
		if err := read(r, &body, `{"pages": 3}`); err != nil {
			return err
		}
		if body.Pages == nil || *body.Pages < 0 || *body.Pages > maxNumber {
			return problems.Problem{
				Status: http.StatusUnprocessableEntity, Code: "input",
				Detail: "pages is missing, or not the number of pages",
				Remedy: "Send the number of pages that you have sent; 0 for none",
			}
		}
		return h.o.Desk.Done(ctx, task, *body.Pages)
	})
}

// failed ends the try of a task.
func (h *Handler) failed(w http.ResponseWriter, r *http.Request) error {
	return h.change(w, r, h.patience, func(ctx context.Context, task listeners.Held) error {
		var body struct {
			Error     string `json:"error"`
			Permanent bool   `json:"permanent"`
		}
		if err := read(r, &body, `{"error": "the vendor is closed", "permanent": false}`); err != nil {
			return err
		}
		return h.o.Desk.Fail(ctx, task, body.Error, body.Permanent)
	})
}

// change makes a change to the task of a request, and answers with 204 if it was made. It takes at most this long,
// besides its body.
func (h *Handler) change(w http.ResponseWriter, r *http.Request, patience time.Duration,
	make func(ctx context.Context, task listeners.Held) error) error {
	task, err := h.held(w, r)
	if err != nil {
		return err
	}
	leave, err := h.enter(r)
	if err != nil {
		return err
	}
	defer leave()
	if err := deadlines(w, bodyTime, patience); err != nil {
		return err
	}
	r.Body = http.MaxBytesReader(w, r.Body, listeners.MaxPage)
	ctx, cancel := h.changing(r, patience)
	defer cancel()
	if err := make(ctx, task); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// enter waits for the turn of a request whose body needs memory.
func (h *Handler) enter(r *http.Request) (leave func(), err error) {
	late := time.NewTimer(pageWait)
	defer late.Stop()
	select {
	case h.pages <- struct{}{}:
		return func() { <-h.pages }, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-late.C:
		return nil, busy(fmt.Sprintf("%d requests are served at once, and all are slow", maxPages))
	}
}

// busy is the problem of a process that has enough to do.
func busy(detail string) problems.Problem {
	return problems.Problem{
		Status: http.StatusServiceUnavailable, Code: "streams", Detail: detail, Remedy: "Send the request again later",
	}
}

// incomplete returns the error of a body that could not be read.
func incomplete(err error) error {
	if _, tooLong := errors.AsType[*http.MaxBytesError](err); tooLong {
		return err
	}
	return problems.Problem{
		Status: http.StatusServiceUnavailable, Code: "body",
		Detail: "the body is incomplete",
		Remedy: "Send the request again",
	}
}

// read reads a JSON object; example is one.
func read(r *http.Request, into any, example string) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return incomplete(err)
	}
	if json.Unmarshal(body, into) != nil {
		return problems.Problem{
			Status: http.StatusBadRequest, Code: "body",
			Detail: "the body is not a JSON object of this form",
			Remedy: "Send an object such as " + example,
		}
	}
	return nil
}

// answer writes a value as JSON.
func answer(w http.ResponseWriter, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(text, '\n'))
	return nil
}
