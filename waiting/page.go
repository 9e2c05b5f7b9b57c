package waiting

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/aged"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/past"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/waiting/languages"
	"github.com/fanfold/fanfold/web"
)

// Options are the data of the pages. All fields but Cancel and Log are required.
type Options struct {
	Seal    *Sealer
	Inspect *inspect.Inspector // has the clients
	Find    web.Find
	// Language is the code of the language for people who ask for none that the pages have.
	Language string
	// Cancel cancels the record of an id; nil: people cannot. An error that matches fault.Refused means that it
	// has ended meanwhile.
	Cancel func(ctx context.Context, id, reason string) (outcome string, err error)
	People record.People // finds the records of a person
	Log    *slog.Logger  // nil: no log
}

// Pages is an http.Handler for all paths below /r/. It is safe for concurrent use.
type Pages struct {
	o         Options
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

//go:embed assets
var assets embed.FS

var layout = template.Must(template.New("page").Parse(source))

// New makes Pages. It does no I/O.
func New(o Options) *Pages {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p := &Pages{o: o, mux: http.NewServeMux(), past: past.New(o.Inspect.Scripts...)}
	p.streams.Max, p.streams.MaxOf = maxStreams, maxStreamsOf
	p.facts = aged.Cache[string, facts]{MaxAge: maxFactsAge, Max: maxCachedFacts, Timeout: queryTimeout, Ask: p.query}
	p.exports = exports{o: o}
	p.exports.lists = aged.Cache[string, exportList]{
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
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // the folder is part of the binary
	}
	for _, name := range []string{"style.css", "live.js", "icon.svg"} {
		p.mux.HandleFunc("GET /r/-/"+name, func(w http.ResponseWriter, r *http.Request) {
			http.ServeFileFS(w, r, files, name)
		})
	}
	p.mux.HandleFunc("GET /r/-/stream.js", web.StreamScript)
	p.mux.HandleFunc("GET /r/", func(w http.ResponseWriter, r *http.Request) { p.refuse(w, r, ErrToken) })
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
	Report, ID string
	Order      []ordered // what the person asked for
	Requested  time.Time // zero: unknown
	Token      string    // empty: the link is not valid
	Lang       string    // the query of a link, if the person has chosen a language by the address; or empty
	Base       string    // relative path from the page to /r/
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
	if errors.Is(err, ErrExpired) {
		p.write(w, r, http.StatusGone, content{view: expiredLink.view(p.language(r))})
		return
	}
	p.write(w, r, http.StatusNotFound, content{view: invalidLink.view(p.language(r))})
}

// language returns the language for a request.
func (p *Pages) language(r *http.Request) *languages.Language {
	return languages.Choose(p.o.Language, r.URL.Query().Get("lang"), r.Header.Get("Accept-Language"))
}

// content returns the content of the page of a pass, without past exports.
func (p *Pages) content(r *http.Request, pass Pass) (content, error) {
	f, err := p.factsOf(r.Context(), pass)
	if err != nil {
		return content{}, err
	}
	f.Now = time.Now() // the time left shrinks while the facts are cached
	in, reports := p.language(r), p.o.Inspect.Config.Reports
	c := content{
		view: describe(in, f, reports), Report: title(reports, f.Report),
		Order: order(in, f.Parameters, reports[f.Report]),
		ID:    pass.ID, Token: r.PathValue("token"), Lang: query(r), Until: pass.Expires,
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
	p.write(w, r, http.StatusServiceUnavailable, content{view: unavailable.view(p.language(r))})
}

// file answers with the file that the record names.
func (p *Pages) file(w http.ResponseWriter, r *http.Request) {
	pass, ok := p.open(w, r)
	if !ok {
		return
	}
	f, err := p.factsOf(r.Context(), pass)
	if err == nil && (!f.Status.HasFile() || report.Skipped(f.Status, f.File, f.Rows)) {
		back(w, r) // the page shows why there is no file
		return
	}
	if err == nil {
		err = p.o.Find.Serve(w, r, pass.ID, f.File)
	}
	switch {
	case errors.Is(err, sink.ErrNoObject):
		p.write(w, r, http.StatusGone, content{ID: pass.ID, view: deletedFile.view(p.language(r))})
	case errors.Is(err, web.ErrElsewhere):
		p.o.Log.Warn("the file of a waiting page cannot be downloaded", "job", pass.ID, "err", err)
		p.write(w, r, http.StatusGone, content{ID: pass.ID, view: unreadableFile.view(p.language(r))})
	case err != nil:
		p.unavailable(w, r, pass, err)
	}
}

// query returns the query of a link that keeps the language of the address of a request; empty: it names none.
func query(r *http.Request) string {
	if lang := r.URL.Query().Get("lang"); lang != "" {
		return "?" + url.Values{"lang": {lang}}.Encode()
	}
	return ""
}

// write answers with a complete page, or with an error.
func (p *Pages) write(w http.ResponseWriter, r *http.Request, code int, s content) {
	s.Base = strings.Repeat("../", strings.Count(strings.TrimPrefix(r.URL.Path, "/r/"), "/"))
	var out bytes.Buffer
	if err := layout.ExecuteTemplate(&out, "page", s); err != nil {
		p.o.Log.Error("cannot render a waiting page", "job", s.ID, "err", err)
		http.Error(w, s.In.Say("broken"), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = out.WriteTo(w)
}
