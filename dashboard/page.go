package dashboard

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"time"

	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/operate"
	"github.com/fanfold/fanfold/report"
)

//go:embed pages/*.html
var pages embed.FS

// view is the data of a page's template.
type view struct {
	Page    string
	Title   string
	Version string
	Who     access.Who
	Message message // the result of the change that led to this page
	Sweeps  []sweep // of rows of this page
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
		Now: time.Now(), sample: d.sampler.latest(ctx), Sweeps: d.dead.sweeps.on(r.URL.Path),
	}
}

// errNotFound is the error of a page that does not exist.
var errNotFound = fault.NotFound.New("this page does not exist")

// contentFunc returns the title and the content of a page.
type contentFunc func(ctx context.Context, r *http.Request, s *sample) (title string, content any, err error)

// page makes the handler of a page.
func (d *Dashboard) page(name string, content contentFunc) http.Handler {
	t := d.template(name)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
		defer cancel()
		v := d.view(ctx, r, name)
		var err error
		v.Title, v.Content, err = content(ctx, r, v.sample)
		if none, ok := errors.AsType[*unchanged](err); ok {
			d.show(w, r, none.outcome)
			return
		}
		if err != nil {
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
	t := template.New("layout.html").Funcs(functions).Funcs(own)
	return template.Must(t.ParseFS(pages, "pages/layout.html", "pages/parts.html", "pages/"+name+".html"))
}

// fail answers with a page that shows an error.
func (d *Dashboard) fail(w http.ResponseWriter, r *http.Request, v view, title string, err error) {
	code := http.StatusBadGateway
	switch {
	case errors.Is(err, errForbidden):
		code = http.StatusForbidden
	case errors.Is(err, fault.NotFound):
		code = http.StatusNotFound
	case errors.Is(err, fault.Input):
		code = http.StatusBadRequest
	case operate.Refused(err):
		code = http.StatusConflict
	case errors.Is(err, errBusy):
		code = http.StatusServiceUnavailable
	}
	v.Title, v.Content = title, err.Error()
	if code == http.StatusBadGateway && !v.Who.Everywhere(report.See) {
		d.o.Log.Warn("a page of the dashboard cannot be shown", "path", r.URL.Path, "err", err)
		v.Content = "A server does not answer. The log of the process has the cause."
	}
	v.Heals = code >= http.StatusInternalServerError && r.Method == http.MethodGet
	v.Static = !v.Heals
	d.write(w, code, d.errorPage, v)
}

// write answers with a complete page, or with an error.
func (d *Dashboard) write(w http.ResponseWriter, code int, t *template.Template, v view) {
	var out bytes.Buffer
	if err := t.Execute(&out, v); err != nil {
		d.o.Log.Error("cannot render a page of the dashboard", "page", v.Page, "err", err)
		http.Error(w, "This page cannot be shown. The log of the process has the cause.",
			http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = out.WriteTo(w)
}
