package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/spool"
	"github.com/fanfold/fanfold/web/problems"
)

// Options configures a Handler. All fields but Log are required.
type Options struct {
	Desk   *listeners.Desk
	Tokens map[string][]string // see listeners.Tokens
	// Root precedes the paths, such as /fanfold/api/v1, in addresses only.
	Root string
	Log  *slog.Logger // nil: no log
}

const (
	// maxClaims is the maximum number of requests that wait for a task at once.
	maxClaims = 256
	// maxPages is the maximum number of requests whose bodies are in memory at once: some MB.
	maxPages = 16
	// pageWait is how long a request waits for its turn among them.
	pageWait = 5 * time.Second
	// bodyTime bounds the time that a body takes.
	bodyTime = 10 * time.Second
	// applyTime bounds the time that a request waits for Redis.
	applyTime = 10 * time.Second
	// segmentTime bounds the time that a request waits for the check of a segment, and for Redis.
	segmentTime = 45 * time.Second
)

// Handler serves workers. It is safe for concurrent use.
type Handler struct {
	o      Options
	mux    *http.ServeMux
	tokens tokens
	claims chan struct{} // has a value for every request that waits for a task
	pages  chan struct{} // has a value for every request whose body is in memory
	// polls has, by listener, the turn of the one waiting request that polls.
	polls map[string]chan struct{}

	patience time.Duration // applyTime
}

// Route is one operation.
type Route struct {
	Method, Path string
	handle       func(h *Handler, w http.ResponseWriter, r *http.Request) error
}

// Routes has all operations. Paths are those below Options.Root.
var Routes = []Route{
	{"POST", "/tasks/{listener}/claim", (*Handler).claim},
	{"POST", "/tasks/{task}/alive", (*Handler).alive},
	{"GET", "/tasks/{task}/values/{from}/{column}/{page}", (*Handler).values},
	{"PUT", "/tasks/{task}/rows/{page}", (*Handler).rows},
	{"PUT", "/tasks/{task}/segments/{page}", (*Handler).segment},
	{"POST", "/tasks/{task}/done", (*Handler).done},
	{"POST", "/tasks/{task}/failed", (*Handler).failed},
}

// New makes a Handler of paths without Options.Root. It does no I/O.
func New(o Options) *Handler {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	h := &Handler{o: o, mux: http.NewServeMux(), tokens: newTokens(o.Tokens), claims: make(chan struct{}, maxClaims),
		pages: make(chan struct{}, maxPages), patience: applyTime,
		polls: map[string]chan struct{}{}}
	for listener := range o.Tokens {
		h.polls[listener] = make(chan struct{}, 1)
	}
	for _, one := range Routes {
		h.mux.HandleFunc(one.Method+" "+one.Path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("X-Content-Type-Options", "nosniff")
			if err := one.handle(h, w, r); err != nil {
				h.problemOf(r, err).Write(w)
			}
		})
	}
	h.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		problems.Problem{
			Status: http.StatusNotFound, Code: "path",
			Detail: "this path does not exist, or has other methods",
			Remedy: "GET " + o.Root + "/openapi.json lists the paths",
		}.Write(w)
	})
	return h
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

// held returns the task of a request, whose token must be one of its listener.
func (h *Handler) held(w http.ResponseWriter, r *http.Request) (listeners.Held, error) {
	task, ok := listeners.ParseHeld(r.PathValue("task"))
	if err := h.tokens.check(w, r, task.Listener); err != nil {
		return task, err
	}
	if !ok {
		return task, problems.Problem{
			Status: http.StatusNotFound, Code: "path",
			Detail: "this is not the address of a task",
			Remedy: "Use the address in the answer to the claim",
		}
	}
	return task, nil
}

// changing returns a context for a change, which is completed although its worker disconnects.
func (h *Handler) changing(r *http.Request, patience time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(r.Context()), patience)
}

// problemOf turns an error into a problem. It logs the errors of servers, and leaves their texts out.
func (h *Handler) problemOf(r *http.Request, err error) problems.Problem {
	p, own := errors.AsType[problems.Problem](err)
	gap, isGap := errors.AsType[listeners.Gap](err)
	long, tooLong := errors.AsType[*http.MaxBytesError](err)
	switch {
	case own:
		return p
	case isGap:
		return problems.Problem{
			Status: http.StatusConflict, Code: "page", Expected: &gap.Expected,
			Detail: gap.Error(),
			Remedy: "Send the pages in their order, and the end after the last one was stored",
		}
	case tooLong:
		return problems.Problem{
			Status: http.StatusRequestEntityTooLarge, Code: "body",
			Detail: fmt.Sprintf("the body has more than %d bytes", long.Limit),
			Remedy: "Send the rows in several pages",
		}
	case errors.Is(err, fault.Gone):
		remedy := "Stop the work on this task, and claim another"
		if errors.As(err, new(spool.Damaged)) {
			remedy = "Claim the task again, and hand in every segment after all of it is written"
		}
		return problems.Problem{Status: http.StatusGone, Code: "task", Detail: err.Error(), Remedy: remedy}
	case errors.Is(err, fault.Input):
		return problems.Problem{
			Status: http.StatusUnprocessableEntity, Code: "input",
			Detail: err.Error(),
			Remedy: "Correct the worker",
		}
	case errors.Is(err, fault.NotFound):
		return problems.Problem{
			Status: http.StatusNotFound, Code: "page",
			Detail: err.Error(),
			Remedy: "The answer to the claim has the columns and their number of pages",
		}
	}
	if r.Context().Err() == nil { // otherwise the worker has disconnected
		h.o.Log.Error("request of a worker failed", "method", r.Method, "path", r.URL.Path, "err", err)
	}
	if errors.Is(err, scripts.ErrBroken) {
		return problems.Problem{
			Status: http.StatusInternalServerError, Code: "failed",
			Detail: "the state of the job cannot be read",
			Remedy: "Read the log of the process",
		}
	}
	return problems.Problem{
		Status: http.StatusServiceUnavailable, Code: "away",
		Detail: "the request cannot be completed now",
		Remedy: "Send it again. The log of the process has the cause",
	}
}
