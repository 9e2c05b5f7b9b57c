package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/operate"
	"github.com/fanfold/fanfold/order"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/web"
)

// Root is the path of the API.
const Root = "/api/v1"

// Options are the sources of the answers. All fields but Page, OrderURL, Prefix and Log are required.
type Options struct {
	// Inspect has the clients. The one for blocking reads must have MaxStreams connections for the API.
	Inspect *inspect.Inspector
	Operate *operate.Operator
	// Find finds the file of a record.
	Find web.Find
	// Size returns the size of a record's file in bytes; nil: not known at once.
	Size func(ctx context.Context, id, file string) *int64
	// Page returns the address of a job's page for the person who waits, or an empty string if it has none.
	// nil: no job has one.
	Page func(ctx context.Context, id string) string
	// OrderURL returns the address of a page to order from; nil: there are none.
	OrderURL func(ctx context.Context, of order.Pass) (string, error)
	// Prefix precedes Root in the addresses of answers, such as /fanfold; empty: none.
	Prefix string
	Log    *slog.Logger // nil: no log
}

// requestTimeout bounds the time that a request waits for servers, without sending the answer.
const requestTimeout = 15 * time.Second

// bodyOverhead is how many bytes a body may have beyond the maximum size of parameters.
const bodyOverhead = 16 << 10

// API is the handler of the API. It is safe for concurrent use.
type API struct {
	o       Options
	mux     *http.ServeMux
	streams web.Streams // of clients that follow a job

	streamTime time.Duration // maximum duration of a stream

	json func() (json.RawMessage, error) // returns the description, made once
}

// route is one operation. Its handler either writes an answer or returns an error without writing anything.
type route struct {
	method, path string
	handle       func(a *API, w http.ResponseWriter, r *http.Request) error
	right        string // on the report or the record of the path, otherwise on all; anyone: none
	long         bool   // the handler sets its own timeouts, not requestTimeout
}

// routes has all operations.
var routes = append(holds(), []route{
	{"GET", "/reports", (*API).reports, anyone, false},
	{"POST", "/reports/{report}/jobs", (*API).create, report.Order, false},
	{"GET", "/jobs/{id}", (*API).job, report.See, false},
	{"GET", "/jobs/{id}/events", (*API).events, report.See, true},
	{"GET", "/jobs/{id}/file", (*API).file, report.Download, true},
	{"POST", "/jobs/{id}/cancel", (*API).cancel, report.Operate, false},
	{"POST", "/jobs/{id}/retry", (*API).retry, report.Operate, false},
	{"POST", "/order-links", createOrderLink, anyone, false},
	{"GET", "/audit", listActs, report.Operate, false},
	{"GET", "/openapi.json", (*API).document, anyone, false},
}...)

// New makes an API. It does no I/O.
func New(o Options) *API {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	a := &API{o: o, mux: http.NewServeMux(), streamTime: streamTime}
	a.streams.Max, a.streams.MaxOf = MaxStreams, maxStreamsOf
	a.json = sync.OnceValues(a.description)
	methods := map[string][]string{}
	for _, one := range routes {
		a.mux.Handle(one.method+" "+Root+one.path, a.handler(one))
		methods[one.path] = append(methods[one.path], one.method)
	}
	for path, allowed := range methods {
		if slices.Contains(allowed, "GET") {
			allowed = append(allowed, "HEAD")
		}
		a.mux.HandleFunc(Root+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			problem{
				Status: http.StatusMethodNotAllowed, Code: "method",
				Detail: r.Method + " is not allowed for this path",
				Remedy: "Use " + strings.Join(allowed, " or "),
			}.Write(w)
		})
	}
	a.mux.HandleFunc(Root+"/", func(w http.ResponseWriter, r *http.Request) {
		problem{
			Status: http.StatusNotFound, Code: "path",
			Detail: "this path does not exist",
			Remedy: "GET " + o.Prefix + Root + "/openapi.json lists the paths",
		}.Write(w)
	})
	return a
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }

// handler makes the handler of a route.
func (a *API) handler(of route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		r.Body = http.MaxBytesReader(w, r.Body, a.o.Inspect.Config.Limits.ParameterBytes+bodyOverhead)
		if !of.long {
			ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
			defer cancel()
			r = r.WithContext(ctx)
		}
		if id := r.PathValue("id"); strings.Contains(of.path, "{id}") && !report.ValidID(id) {
			problem{
				Status: http.StatusBadRequest, Code: "id",
				Detail: fmt.Sprintf("%.80q is not a valid id", id),
				Remedy: "An id has 1 to 64 characters of 0-9, A-Z, a-z, _ and -",
			}.Write(w)
			return
		}
		err := rights{a}.check(r, of)
		if err == nil {
			err = of.handle(a, w, r)
		}
		if err != nil {
			a.problemOf(r, err).Write(w)
		}
	})
}

// answer writes a value as JSON.
func answer(w http.ResponseWriter, code int, v any) error {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = out.WriteTo(w)
	return nil
}

// url returns the address of a job, or of its part more.
func (a *API) url(id, more string) string { return a.o.Prefix + Root + "/jobs/" + id + more }
