package dashboard

import (
	"context"
	"embed"
	"html/template"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/operate"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/web"
)

// Options are what a dashboard shows. Inspect, Operate and the functions are required.
type Options struct {
	Inspect   *inspect.Inspector // has the clients
	Listeners []string           // names of the listeners of all reports
	// Ready returns nil if Redis and the database of the records answer, and otherwise which one does not.
	Ready func(context.Context) error
	// Sink returns nil if the sink answers, and otherwise why it does not.
	Sink func(context.Context) error
	// Spool does the same for the spool; nil: there is none.
	Spool func(context.Context) error
	// Find finds the file of a record.
	Find func(ctx context.Context, id, file string) (web.File, error)
	// Processes returns the names of the running processes, with their versions.
	Processes func(context.Context) ([]string, error)
	Bounds    map[string]report.Bound // limits of sources, by name
	Operate   *operate.Operator
	Version   string
	Path      string       // prefix of the path of every page; empty: none
	Log       *slog.Logger // nil: no log
}

// Dashboard serves pages for operators. It is safe for concurrent use.
type Dashboard struct {
	o           Options
	sampler     *sampler
	lists       listPages
	jobs        *jobPages
	dead        *deadPages
	errorPage   *template.Template
	reportsPage *template.Template
	confirmPage *template.Template
	searchPage  *template.Template
	handler     http.Handler
	streams     web.Streams // of live updates
	messages    messages
}

// maxStreams is the maximum number of browsers that receive live updates.
const maxStreams = 200

// maxStreamsOf is the maximum for one user, so that one cannot use all streams.
const maxStreamsOf = 50

// pageTimeout bounds the time of a request. A page waits for several servers one after the other.
const pageTimeout = 18 * time.Second

//go:embed assets
var assets embed.FS

// New makes a Dashboard. Its pages show data only while Run is running.
func New(o Options) *Dashboard {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	d := &Dashboard{o: o, sampler: newSampler(o), streams: web.Streams{Max: maxStreams, MaxOf: maxStreamsOf}}
	d.errorPage, d.reportsPage, d.searchPage = d.template("error"), d.template("reports"), d.template("search")
	d.confirmPage = d.template("confirm")
	searches := make(queries, maxQueries)
	d.jobs, d.dead = newJobPages(o, searches), &deadPages{o: o, sampler: d.sampler}
	d.lists = listPages{o, d.sampler, picturesOf(o.Inspect.Config.Reports)}
	lists, records, changes := d.lists, recordPages{o, searches}, changes{o.Operate, d.dead}
	all := map[string]contentFunc{
		"/jobs": d.jobs.list, "/records": records.list, "/dead": d.dead.list, "/quarantine": lists.quarantine,
		"/listeners": lists.listeners, "/due": lists.due, "/reports": lists.reports,
		"/floods": newFloodPages(o, searches).list,
	}
	selected := bulk{o, &d.dead.sweeps, all, d.sampler.wakeUp}
	mux := guardedMux{d, http.NewServeMux()}
	for path, content := range all {
		mux.Handle("GET "+path, d.page(path[1:], content))
	}
	mux.Handle("POST /select", d.page("confirm", selected.ask))
	mux.Handle("POST /bulk", d.change(selected.change))
	mux.Handle("GET /{$}", d.page("overview", lists.overview))
	mux.Handle("GET /jobs/{id}", d.page("job", d.jobs.one))
	mux.Handle("GET /reports/{name}", d.page("flow", newFlowPages(lists, d.jobs).one))
	mux.Handle("GET /audit", d.page("audit", actPages{o}.list))
	tallied := talliedPages{o, newTallies(o.Inspect), newActs(o.Inspect)}
	mux.Handle("GET /throughput", d.page("throughput", tallied.throughput))
	mux.Handle("GET /sources", d.page("sources", tallied.sources))
	mux.Handle("GET /confirm", d.page("confirm", changes.confirm))
	mux.Handle("POST /jobs/{id}/cancel", d.change(changes.cancel))
	mux.Handle("POST /jobs/{id}/retry", d.change(changes.retry))
	mux.Handle("POST /jobs/{id}/hurry", d.change(changes.hurry))
	mux.Handle("POST /dead/retry", d.change(d.dead.retry))
	mux.Handle("POST /dead/discard", d.change(d.dead.discard))
	mux.Handle("POST /quarantine", d.change(changes.quarantined))
	for kind := range pagesOf {
		mux.Handle("POST /"+kind+"s/{name}/pause", d.change(changes.pause(kind)))
		mux.Handle("POST /"+kind+"s/{name}/resume", d.change(changes.resume(kind)))
	}
	for _, kind := range []string{"source", "report"} {
		mux.Handle("POST /"+kind+"s/{name}/limit", d.change(changes.limit(kind)))
	}
	mux.Handle("POST /sources/{name}/reason", d.change(changes.explain))
	mux.Handle("POST /reports/{name}/retry", d.change(d.dead.retryReport))
	mux.Handle("POST /reports/{name}/run", d.change(changes.run))
	mux.Handle("POST /due/delayed", d.change(changes.delayed))
	mux.Handle("POST /due/timers", d.change(changes.timer))
	mux.Handle("GET /search", http.HandlerFunc(d.search))
	mux.Handle("GET /live", http.HandlerFunc(d.live))
	mux.Handle("GET /", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.fail(w, r, d.view(r.Context(), r, ""), "Not found", errNotFound)
	}))
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // the folder is part of the binary
	}
	mux.Handle("GET /assets/stream.js", http.HandlerFunc(web.StreamScript))
	mux.Handle("GET /assets/", http.StripPrefix("/assets/", http.FileServerFS(files)))
	d.handler = mux.routes
	return d
}

// ServeHTTP implements http.Handler.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.handler.ServeHTTP(w, r) }

// Run keeps the data of the pages up to date and runs the changes of many jobs, until ctx ends.
func (d *Dashboard) Run(ctx context.Context) {
	defer d.dead.sweeps.wait()
	defer d.jobs.reasons.running.Wait()
	d.dead.sweeps.begin(ctx)
	d.sampler.run(ctx)
}

const (
	// liveEach is the time that one browser's page may take when a new sample is told to all.
	liveEach = 10 * time.Millisecond
	// liveMax is the maximum time by which a browser is told later.
	liveMax = 500 * time.Millisecond
)

// spread is the time over which so many browsers are told of a sample. They load their pages at once, and those that
// come last would wait for all others.
func spread(browsers int) time.Duration {
	return min(liveMax, time.Duration(max(0, browsers-1))*liveEach)
}

// live sends a browser the number of every new sample.
func (d *Dashboard) live(w http.ResponseWriter, r *http.Request) {
	name := access.Of(r.Context()).Name
	if !d.streams.Open(name) {
		const text = "Too many browsers already receive updates. Reload this page to update it."
		http.Error(w, text, http.StatusServiceUnavailable)
		return
	}
	defer d.streams.Close(name)
	ctx, cancel := access.UntilLogout(r.Context())
	defer cancel()
	to := web.NewStream(w)
	tick := time.NewTicker(web.Heartbeat)
	defer tick.Stop()
	for last := int64(0); to.Err() == nil; {
		next := d.sampler.next()
		if s := d.sampler.latest(ctx); s.Number != last {
			last = s.Number
			_ = to.Send("", strconv.FormatInt(last, 10))
		} else {
			_ = to.Beat(0)
		}
		select {
		case <-next:
			select {
			case <-time.After(rand.N(spread(d.streams.Len()) + 1)):
			case <-ctx.Done():
				return
			}
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
