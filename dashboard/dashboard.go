package dashboard

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/internal/aged"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/operate"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/web"
)

// Options are what a dashboard shows. Inspect, Operate and the functions are required.
type Options struct {
	Inspect   *inspect.Inspector
	Reports   map[string]*report.Report
	Listeners []string // names of the listeners of all reports
	// Ready returns nil if Redis and the database of the records answer, and otherwise which one does not.
	Ready func(context.Context) error
	// Sink returns nil if the sink answers, and otherwise why it does not.
	Sink func(context.Context) error
	// Processes returns the names of the running processes, with their versions.
	Processes func(context.Context) ([]string, error)
	Bounds    map[string]report.Bound // limits of sources, by name
	Operate   *operate.Operator
	Version   string
	Path      string       // prefix of the path of every page; empty: none
	Log       *slog.Logger // nil: no log
}

const (
	// maxVerdictAge is the maximum age of the state of a job on its page. Within it, several browsers cost one
	// query.
	maxVerdictAge = 2 * time.Second
	// maxVerdicts is the maximum number of cached states.
	maxVerdicts = 1000
)

// Dashboard serves pages for operators. It is safe for concurrent use.
type Dashboard struct {
	o           Options
	sampler     *sampler
	errorPage   *template.Template
	reportsPage *template.Template
	handler     http.Handler
	streams     web.Streams                 // of live updates
	jobPages    aged.Cache[string, jobPage] // by id
	reasons     reasons
	matches     aged.Cache[parameter, match]
	messages    messages
	queries     chan struct{} // semaphore of queries of records
	sweeps      sweeps
}

// maxStreams is the maximum number of browsers that receive live updates.
const maxStreams = 200

// pageTimeout bounds the time of a request. A page waits for several servers one after the other.
const pageTimeout = 18 * time.Second

//go:embed pages/*.html
var pages embed.FS

//go:embed assets
var assets embed.FS

// New makes a Dashboard. Its pages show data only while Run is running.
func New(o Options) *Dashboard {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	d := &Dashboard{o: o, sampler: newSampler(o), streams: web.Streams{Max: maxStreams}, queries: make(chan struct{}, maxQueries)}
	d.jobPages = aged.Cache[string, jobPage]{MaxAge: maxVerdictAge, Max: maxVerdicts, Timeout: pageTimeout, Ask: d.readJob}
	d.matches = aged.Cache[parameter, match]{MaxAge: maxMatchAge, Max: maxMatchings, Timeout: pageTimeout, Ask: d.readMatch}
	d.errorPage, d.reportsPage = d.template("error"), d.template("reports")
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", d.page("overview", d.overview))
	mux.Handle("GET /jobs", d.page("jobs", d.jobs))
	mux.Handle("GET /jobs/{id}", d.page("job", d.job))
	mux.Handle("GET /records", d.page("records", d.records))
	mux.Handle("GET /dead", d.page("dead", d.dead))
	mux.Handle("GET /quarantine", d.page("quarantine", d.quarantine))
	mux.Handle("GET /listeners", d.page("listeners", d.listeners))
	mux.Handle("GET /due", d.page("due", d.due))
	mux.Handle("GET /reports", d.page("reports", d.reports))
	mux.Handle("GET /confirm", d.page("confirm", d.confirm))
	mux.Handle("POST /jobs/{id}/cancel", d.change(d.cancel))
	mux.Handle("POST /jobs/{id}/retry", d.change(d.retry))
	mux.Handle("POST /jobs/{id}/hurry", d.change(d.hurry))
	mux.Handle("POST /dead/retry", d.change(d.retryGroup))
	mux.Handle("POST /dead/discard", d.change(d.discardGroup))
	mux.Handle("POST /quarantine", d.change(d.changeQuarantined))
	mux.Handle("POST /listeners/{name}/pause", d.change(d.pauseListener))
	mux.Handle("POST /listeners/{name}/resume", d.change(d.resumeListener))
	mux.Handle("POST /reports/{name}/pause", d.change(d.pauseReport))
	mux.Handle("POST /reports/{name}/resume", d.change(d.resumeReport))
	mux.Handle("POST /reports/{name}/run", d.change(d.run))
	mux.Handle("POST /due/delayed", d.change(d.changeDelayed))
	mux.Handle("POST /due/timers", d.change(d.changeTimer))
	mux.HandleFunc("GET /live", d.live)
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		d.fail(w, r, d.view(r.Context(), r, ""), "Not found", errNotFound)
	})
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // the folder is part of the binary
	}
	mux.HandleFunc("GET /assets/stream.js", web.StreamScript)
	mux.Handle("GET /assets/", http.StripPrefix("/assets/", http.FileServerFS(files)))
	d.handler = mux
	return d
}

// ServeHTTP implements http.Handler.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.handler.ServeHTTP(w, r) }

// Run keeps the data of the pages up to date and runs the changes of many jobs, until ctx ends.
func (d *Dashboard) Run(ctx context.Context) {
	defer d.sweeps.wait()
	defer d.reasons.running.Wait()
	d.sweeps.begin(ctx)
	d.sampler.run(ctx)
}

// view is the data of a page's template.
type view struct {
	Page    string
	Title   string
	Version string
	Who     access.Who
	Message string // the result of the change that led to this page; empty: none
	Now     time.Time
	Static  bool // the page shows what was read once, and is not updated
	Heals   bool // the page shows an error, and is loaded again until it can be shown
	*sample
	Content any
}

// static is the content of a page that is not updated.
type static interface{ static() }

// refused is the content of a page that refuses what a person asked for, and says why.
type refused interface{ refused() bool }

// view returns the view of a page for a request, without its title and content.
func (d *Dashboard) view(ctx context.Context, r *http.Request, page string) view {
	return view{
		Page: page, Version: d.o.Version, Who: access.Of(r.Context()), Message: d.messages.take(r.FormValue("message")),
		Now: time.Now(), sample: d.sampler.latest(ctx),
	}
}

// errNotFound is the error of a page that does not exist.
var errNotFound = fault.NotFound.New("this page does not exist")

// page makes the handler of a page from a function that returns its title and content.
func (d *Dashboard) page(name string, content func(ctx context.Context, r *http.Request, s *sample) (title string, v any, err error)) http.Handler {
	t := d.template(name)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
		defer cancel()
		v := d.view(ctx, r, name)
		var err error
		if v.Title, v.Content, err = content(ctx, r, v.sample); err != nil {
			d.fail(w, r, v, "This page cannot be shown", err)
			return
		}
		code := http.StatusOK
		if c, ok := v.Content.(refused); ok && c.refused() {
			code = http.StatusBadRequest
		}
		_, v.Static = v.Content.(static)
		d.write(w, code, t, v)
	})
}

// template parses the templates of a page. It panics if they are wrong, as they are part of the binary.
func (d *Dashboard) template(name string) *template.Template {
	own := template.FuncMap{"root": func() string { return d.o.Path }}
	return template.Must(template.New("layout.html").Funcs(functions).Funcs(own).ParseFS(pages, "pages/layout.html", "pages/parts.html", "pages/"+name+".html"))
}

// fail answers with a page that shows an error.
func (d *Dashboard) fail(w http.ResponseWriter, r *http.Request, v view, title string, err error) {
	code := http.StatusBadGateway
	switch {
	case errors.Is(err, fault.NotFound):
		code = http.StatusNotFound
	case errors.Is(err, fault.Input):
		code = http.StatusBadRequest
	case operate.Refused(err):
		code = http.StatusConflict
	case errors.Is(err, errBusy):
		code = http.StatusServiceUnavailable
	}
	v.Title, v.Content = title, engine.Reason(err)
	v.Heals = code >= http.StatusInternalServerError && r.Method == http.MethodGet
	v.Static = !v.Heals
	d.write(w, code, d.errorPage, v)
}

// write answers with a complete page, or with an error.
func (d *Dashboard) write(w http.ResponseWriter, code int, t *template.Template, v view) {
	var out bytes.Buffer
	if err := t.Execute(&out, v); err != nil {
		d.o.Log.Error("cannot render a page of the dashboard", "page", v.Page, "err", err)
		http.Error(w, "This page cannot be shown. The log of the process has the cause.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = out.WriteTo(w)
}

// live sends a browser the number of every new sample.
func (d *Dashboard) live(w http.ResponseWriter, r *http.Request) {
	if !d.streams.Open("") {
		text := fmt.Sprintf("%d browsers already receive updates. Reload this page to update it.", maxStreams)
		http.Error(w, text, http.StatusServiceUnavailable)
		return
	}
	defer d.streams.Close("")
	to := web.NewStream(w)
	tick := time.NewTicker(web.Heartbeat)
	defer tick.Stop()
	for last := int64(0); to.Err() == nil; {
		next := d.sampler.next()
		if s := d.sampler.latest(r.Context()); s.Number != last {
			last = s.Number
			_ = to.Send("", strconv.FormatInt(last, 10))
		} else {
			_ = to.Beat(0)
		}
		select {
		case <-next:
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}
