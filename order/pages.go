package order

import (
	"context"
	_ "embed"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/internal/aged"
	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/waiting"
	"github.com/fanfold/fanfold/web"
	"github.com/fanfold/fanfold/web/languages"
	"github.com/fanfold/fanfold/web/link"
	"github.com/fanfold/fanfold/web/seal"
)

// Options are the data of the pages. All fields but User, Frames and Log are required.
type Options struct {
	Seal    *Sealer
	Waiting waiting.Records
	Reports map[string]*report.Report
	// Record reads a record.
	Record func(ctx context.Context, id string) (engine.Record, error)
	// Newest reads the newest n records of a person.
	Newest func(ctx context.Context, person, tenant string, n int) ([]engine.Record, error)
	// Create inserts a record and pushes its id, once for a key. If only the push failed, it returns the id, too.
	Create func(ctx context.Context, key string, of record.Request) (id string, err error)
	// User returns the name of the user whose session a request has; empty: none. It may be nil.
	User func(*http.Request) string
	// Language is the code of the language for people who ask for none that the pages have.
	Language string
	Frames   []string     // origins of the pages that may show these in a frame
	Log      *slog.Logger // nil: no log
}

// Pages is an http.Handler for all paths below /o/. It is safe for concurrent use.
type Pages struct {
	o       Options
	folder  link.Folder
	mux     *http.ServeMux
	lists   aged.Cache[owner, []engine.Record]
	streams web.Streams
}

//go:embed page.html
var source string

var layout = link.Parse(source)

// New makes Pages. It does no I/O.
func New(o Options) *Pages {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p := &Pages{o: o, mux: http.NewServeMux()}
	p.folder = link.Folder{Path: "/o/", Language: o.Language, Frames: o.Frames, Log: o.Log}
	p.streams.Max, p.streams.MaxOf = maxStreams, maxStreamsOf
	p.lists = aged.Cache[owner, []engine.Record]{
		MaxAge: maxListAge, Max: maxPeople, Timeout: queryTimeout, Ask: mine{p}.newest,
	}
	p.folder.Assets(p.mux)
	p.mux.HandleFunc("GET /o/{token}", p.catalogue)
	p.mux.HandleFunc("GET /o/{token}/live", mine{p}.live)
	p.mux.HandleFunc("GET /o/{token}/exports/{id}", mine{p}.export)
	p.mux.HandleFunc("GET /o/{token}/exports/{id}/file", mine{p}.export)
	p.mux.HandleFunc("GET /o/{token}/reports/{report}", p.form)
	p.mux.HandleFunc("POST /o/{token}/reports/{report}", p.create)
	p.mux.HandleFunc("GET /o/", func(w http.ResponseWriter, r *http.Request) { p.refuse(w, r, seal.ErrToken) })
	return p
}

// ServeHTTP implements http.Handler.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Robots-Tag", "noindex, nofollow")
	p.mux.ServeHTTP(w, r)
}

// content is the data of the template.
type content struct {
	link.Page
	In           *languages.Language
	Class, Title string
	Says         []string
	Token        string // empty: the link is not valid
	Until        time.Time

	Search  string // for which the catalogue is searched
	Many    bool   // the catalogue has a search field
	Reports []item // the catalogue
	Exports []export
	Live    bool // an export has not ended

	Form *asked
	User string // who can log out
}

// Time returns an element with a time, for the template.
func (c content) Time(t time.Time) template.HTML { return link.Time(c.In, t) }

// SayTime returns the text of a key with the element of a time, for the template.
func (c content) SayTime(key string, t time.Time) template.HTML { return link.SayTime(c.In, key, t) }

// open reads the token of a request. If it is not valid, open answers the request and returns false.
func (p *Pages) open(w http.ResponseWriter, r *http.Request) (Pass, bool) {
	pass, err := p.o.Seal.Open(r.PathValue("token"), time.Now())
	if err != nil {
		p.refuse(w, r, err)
	}
	return pass, err == nil
}

// report returns the report of a request that the link permits to order. If there is none, it answers the request
// and returns nil.
func (p *Pages) report(w http.ResponseWriter, r *http.Request, pass Pass) *report.Report {
	of := p.o.Reports[r.PathValue("report")]
	if of == nil || !pass.May(of.Name) {
		p.refuse(w, r, seal.ErrToken)
		return nil
	}
	return of
}

// refuse answers that a link is not valid or has expired, and reveals nothing else.
func (p *Pages) refuse(w http.ResponseWriter, r *http.Request, err error) {
	in, code, key, class := p.folder.In(r), http.StatusNotFound, "invalid", "bad"
	if errors.Is(err, seal.ErrExpired) {
		code, key, class = http.StatusGone, "expired", "warn"
	}
	p.write(w, r, code, content{In: in, Class: class, Title: in.Say(key), Says: []string{in.Say(key + ".says")}})
}

// unavailable answers that a record cannot be read now, and logs the error.
func (p *Pages) unavailable(w http.ResponseWriter, r *http.Request, err error) {
	p.o.Log.Warn("cannot read a record for a page to order from", "err", err)
	in := p.folder.In(r)
	w.Header().Set("Retry-After", "5")
	p.write(w, r, http.StatusServiceUnavailable,
		content{In: in, Class: "warn", Title: in.Say("unavailable"), Says: []string{in.Say("unavailable.says")}})
}

// redirect leads to a path below that of all pages, from which a link leads back.
func (p *Pages) redirect(w http.ResponseWriter, r *http.Request, to string) {
	back := url.Values{"order": {r.PathValue("token")}}
	if lang := r.URL.Query().Get("lang"); lang != "" {
		back.Set("lang", lang)
	}
	w.Header().Set("Location", p.folder.Page(r).Base+"../"+to+"?"+back.Encode())
	w.WriteHeader(http.StatusSeeOther)
}

// content returns the content of a page of a link.
func (p *Pages) content(r *http.Request, pass Pass, title string) content {
	return content{
		Page: p.folder.Page(r), In: p.folder.In(r), Title: title, Token: r.PathValue("token"), Until: pass.Expires,
	}
}

// write answers with a complete page, or with an error.
func (p *Pages) write(w http.ResponseWriter, r *http.Request, code int, c content) {
	c.Page = p.folder.Page(r)
	if p.o.User != nil {
		c.User = p.o.User(r)
	}
	p.folder.Write(w, r, code, layout, c)
}

// acts returns a context in which the person acts.
func acts(r *http.Request, pass Pass) (context.Context, context.CancelFunc) {
	// An order has several steps, so it continues if the browser leaves.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), access.ChangeTime)
	actor := &audit.Actor{Who: pass.Person, By: audit.Link}
	if by, err := audit.Of(ctx); err == nil {
		actor.From, actor.Log = by.From, by.Log
	}
	return audit.With(ctx, actor), cancel
}
