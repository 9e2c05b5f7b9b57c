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
	"github.com/fanfold/fanfold/operate"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Options are what a dashboard shows.
type Options struct {
	Inspect   *inspect.Inspector
	Reports   map[string]*report.Report
	Listeners []string // of all reports, by name
	// Ready tells what does not answer; nil: all do.
	Ready func(context.Context) error
	// Sink tells why the sink does not answer; nil: it does.
	Sink func(context.Context) error
	// Processes names the processes that run, with their versions.
	Processes func(context.Context) ([]string, error)
	// Bounds are the limits of sources, by name. Used counts the tasks that have a slot of each of them.
	Bounds  map[string]report.Bound
	Used    func(ctx context.Context, sources []string) (map[string]int64, error)
	Operate *operate.Operator
	Version string
	Path    string       // before the path of every page; empty: none
	Log     *slog.Logger // nil: none
}

// verdictAge is how old what a page says of a job may be: several browsers ask once.
const verdictAge = 2 * time.Second

// Dashboard serves pages for operators.
type Dashboard struct {
	o       Options
	sampler *sampler
	failed  *template.Template
	handler http.Handler
	streams chan struct{} // one for each browser that is told of changes
	asked   verdicts
	reasons reasons
	matched matched
	said    outcomes
	asking  chan struct{} // one for each page that asks the records
	sweeps  sweeps
}

// maxStreams is how many browsers are told of changes at once.
const maxStreams = 200

// pageTime bounds what a page asks itself: servers that hang are waited for one after the other.
const pageTime = 18 * time.Second

//go:embed pages/*.html
var pages embed.FS

//go:embed assets
var assets embed.FS

// New makes a Dashboard. Its pages are as fresh as Run makes them.
func New(o Options) *Dashboard {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	d := &Dashboard{o: o, sampler: newSampler(o), streams: make(chan struct{}, maxStreams), asking: make(chan struct{}, maxAsking)}
	d.failed = d.template("error")
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
	mux.Handle("POST /jobs/{id}/cancel", d.change(d.cancel))
	mux.Handle("POST /jobs/{id}/retry", d.change(d.retry))
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
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // the folder is part of the binary
	}
	mux.Handle("GET /assets/", http.StripPrefix("/assets/", http.FileServerFS(files)))
	d.handler = mux
	return d
}

// ServeHTTP implements http.Handler.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.handler.ServeHTTP(w, r) }

// Run keeps what the pages show up to date, and changes many jobs at once, until ctx ends.
func (d *Dashboard) Run(ctx context.Context) {
	defer d.sweeps.wait()
	defer d.reasons.asking.Wait()
	d.sweeps.begin(ctx)
	d.sampler.run(ctx)
}

// view is what a page is made of.
type view struct {
	Page    string
	Title   string
	Version string
	Who     access.Who
	Said    string // what the change before this page has done; empty: none was made
	Now     time.Time
	*sample
	Content any
}

// view begins the view of a page for a request.
func (d *Dashboard) view(ctx context.Context, r *http.Request, page string) view {
	return view{
		Page: page, Version: d.o.Version, Who: access.Of(r.Context()), Said: d.said.of(r.FormValue("said")),
		Now: time.Now(), sample: d.sampler.look(ctx),
	}
}

// errNotFound is the error of a page that does not exist.
var errNotFound = errors.New("there is no such page")

// page makes the handler of a page from what finds its content.
func (d *Dashboard) page(name string, content func(ctx context.Context, r *http.Request, s *sample) (title string, v any, err error)) http.Handler {
	t := d.template(name)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), pageTime)
		defer cancel()
		v := d.view(ctx, r, name)
		var err error
		if v.Title, v.Content, err = content(ctx, r, v.sample); err != nil {
			d.fail(w, v, "Not shown", err)
			return
		}
		d.write(w, http.StatusOK, t, v)
	})
}

// template parses the templates of a page.
func (d *Dashboard) template(name string) *template.Template {
	own := template.FuncMap{"root": func() string { return d.o.Path }}
	return template.Must(template.New("layout.html").Funcs(functions).Funcs(own).ParseFS(pages, "pages/layout.html", "pages/parts.html", "pages/"+name+".html"))
}

// fail answers with a page that says why there is no other.
func (d *Dashboard) fail(w http.ResponseWriter, v view, title string, err error) {
	code := http.StatusBadGateway
	switch {
	case errors.Is(err, errNotFound), errors.Is(err, engine.ErrNoRecord), errors.Is(err, operate.ErrNotFound), errors.Is(err, scripts.ErrNoTimer):
		code = http.StatusNotFound
	case errors.Is(err, operate.ErrInput):
		code = http.StatusBadRequest
	case operate.Refused(err):
		code = http.StatusConflict
	}
	v.Title, v.Content = title, engine.Reason(err)
	d.write(w, code, d.failed, v)
}

// write answers with a page: a whole one, or an error.
func (d *Dashboard) write(w http.ResponseWriter, code int, t *template.Template, v view) {
	var out bytes.Buffer
	if err := t.Execute(&out, v); err != nil {
		d.o.Log.Error("page", "page", v.Page, "err", err)
		http.Error(w, "This page cannot be shown: the log of the process says why.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = out.WriteTo(w)
}

// beat is how often a stream that has nothing to say shows that it is there.
const beat = 15 * time.Second

// writeTime is how long a browser may take to receive a message.
const writeTime = 10 * time.Second

// live tells a browser, as server-sent events, that there is something new: the number of the sample.
func (d *Dashboard) live(w http.ResponseWriter, r *http.Request) {
	select {
	case d.streams <- struct{}{}:
		defer func() { <-d.streams }()
	default:
		http.Error(w, fmt.Sprintf("%d browsers already receive updates: reload the page yourself.", maxStreams), http.StatusServiceUnavailable)
		return
	}
	to := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for last := int64(0); ; {
		next := d.sampler.next()
		text := ": \n\n"
		if s := d.sampler.look(r.Context()); s.Number != last {
			last = s.Number
			text = "data: " + strconv.FormatInt(last, 10) + "\n\n"
		}
		if to.SetWriteDeadline(time.Now().Add(writeTime)) != nil {
			return
		}
		if _, err := w.Write([]byte(text)); err != nil || to.Flush() != nil {
			return
		}
		select {
		case <-next:
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}
