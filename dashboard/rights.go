package dashboard

import (
	"context"
	"errors"
	"net/http"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/report"
)

// errForbidden is the error of a page or a change for which a user lacks the right.
var errForbidden = errors.New("you lack the right to this: http.groups of the configuration gives rights")

// own are the pages and the changes of one record or report, whose rights mayUse checks, and pages that show only what
// a user may see. All others need the right on all records of all reports.
var own = map[string]string{
	"GET /records": report.See, "GET /reports": report.See, "GET /jobs/{id}": report.See,
	"GET /assets/": report.See, "GET /assets/stream.js": report.See, "GET /live": report.See, "GET /": report.See,
	"POST /jobs/{id}/cancel": report.Operate, "POST /jobs/{id}/retry": report.Operate,
	"POST /jobs/{id}/hurry": report.Operate, "POST /reports/{name}/run": report.Order,
	"POST /reports/{name}/retry": report.Operate,
}

// needed is the right that a route needs. Quarantined entries have rows of data.
func needed(method, pattern string) string {
	if right, ok := own[pattern]; ok {
		return right
	}
	switch {
	case method != http.MethodGet && method != http.MethodHead, pattern == "GET /audit", pattern == "GET /confirm":
		return report.Operate
	case pattern == "GET /quarantine":
		return report.Download
	}
	return report.See
}

// mayUse returns nil if a user may use a route; otherwise errForbidden, or errNotFound if the user may not know of the
// record.
func (d *Dashboard) mayUse(ctx context.Context, r *http.Request, pattern string) error {
	who := access.Of(ctx)
	right := needed(r.Method, pattern)
	if who.Everywhere(right) {
		return nil
	}
	if own[pattern] == "" {
		return errForbidden
	}
	if name := r.PathValue("name"); name != "" && !who.May(right, name) {
		return errForbidden
	}
	id := r.PathValue("id")
	if id == "" {
		return nil
	}
	found, err := d.o.Inspect.Jobs.Record(ctx, id)
	can := func(right string) bool { return who.Can(right, found.Report, found.Owner, found.Tenant) }
	switch {
	case errors.Is(err, engine.ErrNoRecord) || err == nil && !can(report.See):
		return errNotFound
	case err == nil && !can(right):
		return errForbidden
	}
	return err
}

// guardedMux has routes that check the rights of users.
type guardedMux struct {
	d      *Dashboard
	routes *http.ServeMux
}

// Handle adds a route.
func (m guardedMux) Handle(pattern string, next http.Handler) {
	m.routes.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), jobTimeout)
		err := m.d.mayUse(ctx, r, pattern)
		cancel()
		if err == nil {
			next.ServeHTTP(w, r)
			return
		}
		if pattern == "GET /{$}" {
			http.Redirect(w, r, m.d.o.Path+"/records", http.StatusSeeOther)
			return
		}
		v := m.d.view(r.Context(), r, "")
		if !v.Who.Everywhere(report.See) {
			v.sample = &sample{At: v.At, Number: v.Number}
		}
		m.d.fail(w, r, v, "This page cannot be shown", err)
	})
}

// Shows reports whether the menu has a page for the user.
func (v view) Shows(path string) bool {
	pattern := "GET " + path
	if path == "/" {
		return v.Who.Everywhere(report.See)
	}
	return own[pattern] != "" || v.Who.Everywhere(needed(http.MethodGet, pattern))
}

// Can reports whether the user has a right on a job.
func (p jobPage) Can(who access.Who, right string) bool {
	return who.Can(right, p.Report, p.Owner, p.Tenant)
}
