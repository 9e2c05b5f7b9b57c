package waiting

import (
	"context"
	_ "embed"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/aged"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/past"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/web"
	"github.com/fanfold/fanfold/web/link"
	"github.com/fanfold/fanfold/web/seal"
)

// Options are the data of the pages. All fields but Cancel and Log are required.
type Options struct {
	Seal    *Sealer
	Inspect *inspect.Inspector // has the clients
	Find    web.Find
	// Language is the code of the language for people who ask for none that the pages have.
	Language string
	// Frames are the origins of the pages that may show these in a frame.
	Frames []string
	// Cancel cancels the record of an id; nil: people cannot. An error that matches fault.Refused means that it
	// has ended meanwhile.
	Cancel func(ctx context.Context, id, reason string) (outcome string, err error)
	People record.People // finds the records of a person
	Log    *slog.Logger  // nil: no log
}

// Pages is an http.Handler for all paths below /r/. It is safe for concurrent use.
type Pages struct {
	o         Options
	folder    link.Folder
	mux       *http.ServeMux
	facts     aged.Cache[string, facts] // by id
	exports   exports
	queues    queues
	estimates estimates
	past      *past.Runs
	streams   web.Streams
}

//go:embed page.html
var source string

var layout = link.Parse(source)

// New makes Pages. It does no I/O.
func New(o Options) *Pages {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p := &Pages{o: o, mux: http.NewServeMux(), past: past.New(o.Inspect.Scripts...)}
	p.folder = link.Folder{Path: "/r/", Language: o.Language, Frames: o.Frames, Log: o.Log}
	p.streams.Max, p.streams.MaxOf = maxStreams, maxStreamsOf
	p.facts = aged.Cache[string, facts]{MaxAge: maxFactsAge, Max: maxCachedFacts, Timeout: queryTimeout, Ask: p.query}
	p.exports = exports{o: o}
	p.exports.lists = aged.Cache[owner, exportList]{
		MaxAge: maxExportsAge, Max: maxPeople, Timeout: queryTimeout, Ask: p.exports.read,
	}
	p.queues = queues{partitions: o.Inspect.Scripts}
	p.queues.heads = aged.Cache[string, queueHead]{MaxAge: maxQueueAge, Timeout: queryTimeout, Ask: p.queues.read}
	p.mux.HandleFunc("GET /r/{token}", p.page)
	p.mux.HandleFunc("GET /r/{token}/file", p.file)
	p.mux.HandleFunc("GET /r/{token}/live", p.live)
	if o.Cancel != nil {
		p.mux.HandleFunc("GET /r/{token}/cancel", p.confirm)
		p.mux.HandleFunc("POST /r/{token}/cancel", p.cancel)
	}
	p.folder.Assets(p.mux)
	p.mux.HandleFunc("GET /r/", func(w http.ResponseWriter, r *http.Request) { p.refuse(w, r, seal.ErrToken) })
	return p
}

// ServeHTTP implements http.Handler.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Robots-Tag", "noindex, nofollow")
	p.mux.ServeHTTP(w, r)
}

// content is the data of the template.
type content struct {
	view
	link.Page
	Report, ID string
	Order      []ordered // what the person asked for
	Requested  time.Time // zero: unknown
	Token      string    // empty: the link is not valid
	Until      time.Time // when the link expires
	Exports    []export
	Cancel     bool // the person can cancel the report
	Confirm    bool // the page asks whether to cancel it
}

// open reads the token of a request. If it is not valid, open answers the request and returns false.
func (p *Pages) open(w http.ResponseWriter, r *http.Request) (Pass, bool) {
	pass, err := p.o.Seal.Open(r.PathValue("token"), time.Now())
	if err != nil {
		p.refuse(w, r, err)
	}
	return pass, err == nil
}

// refuse answers that a link is not valid or has expired, and reveals nothing else.
func (p *Pages) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, seal.ErrExpired) {
		p.write(w, r, http.StatusGone, content{view: expiredLink.view(p.folder.In(r))})
		return
	}
	p.write(w, r, http.StatusNotFound, content{view: invalidLink.view(p.folder.In(r))})
}

// content returns the content of the page of a pass, without past exports.
func (p *Pages) content(r *http.Request, pass Pass) (content, error) {
	f, err := p.factsOf(r.Context(), pass)
	if err != nil {
		return content{}, err
	}
	f.Now = time.Now() // the time left shrinks while the facts are cached
	in, reports := p.folder.In(r), p.o.Inspect.Config.Reports
	c := content{
		view: describe(in, f, reports), Report: Title(reports, f.Report),
		Order: order(in, f.Parameters, reports[f.Report]),
		ID:    pass.ID, Token: r.PathValue("token"), Page: p.folder.Page(r), Until: pass.Expires,
		Cancel: p.o.Cancel != nil && cancellable(f),
	}
	if f.Created != nil {
		c.Requested = f.Created.Round(time.Second) // it is computed from an age, which varies a little
	}
	return c, nil
}

func (p *Pages) page(w http.ResponseWriter, r *http.Request) {
	pass, ok := p.open(w, r)
	if !ok {
		return
	}
	s, err := p.content(r, pass)
	if err != nil {
		p.unavailable(w, r, pass, err)
		return
	}
	s.Exports = p.exports.of(r.Context(), pass)
	p.write(w, r, http.StatusOK, s)
}

// unavailable answers that the state is not available now, and logs the error.
func (p *Pages) unavailable(w http.ResponseWriter, r *http.Request, pass Pass, err error) {
	p.o.Log.Warn("cannot read the state for a waiting page", "job", pass.ID, "err", err)
	w.Header().Set("Retry-After", "5")
	p.write(w, r, http.StatusServiceUnavailable, content{view: unavailable.view(p.folder.In(r))})
}

// file answers with the file that the record names.
func (p *Pages) file(w http.ResponseWriter, r *http.Request) {
	pass, ok := p.open(w, r)
	if !ok {
		return
	}
	f, err := p.factsOf(r.Context(), pass)
	if err == nil && (!f.Status.HasFile() || report.Skipped(f.Status, f.File, f.Rows)) {
		p.back(w, r) // the page shows why there is no file
		return
	}
	if err == nil {
		err = p.o.Find.Serve(w, r, pass.ID, f.File)
	}
	switch {
	case errors.Is(err, sink.ErrNoObject):
		p.write(w, r, http.StatusGone, content{ID: pass.ID, view: deletedFile.view(p.folder.In(r))})
	case errors.Is(err, web.ErrElsewhere):
		p.o.Log.Warn("the file of a waiting page cannot be downloaded", "job", pass.ID, "err", err)
		p.write(w, r, http.StatusGone, content{ID: pass.ID, view: unreadableFile.view(p.folder.In(r))})
	case err != nil:
		p.unavailable(w, r, pass, err)
	}
}

// write answers with a complete page, or with an error.
func (p *Pages) write(w http.ResponseWriter, r *http.Request, code int, c content) {
	c.Page = p.folder.Page(r)
	p.folder.Write(w, r, code, layout, c)
}
