package dashboard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/report"
)

// hit is what a search has found.
type hit struct {
	Kind, Name string
	To         string // path of its page
	Note       string
	Exact      bool // its name is the text of the search
}

// hits is the content of the page of a search.
type hits struct {
	Query string
	Table table
}

func (hits) static() {}

const (
	// maxHits is the maximum number of hits of a kind.
	maxHits = 20
	// minText is the minimum length of a text that is searched in errors.
	minText = 3
)

// search shows what a text names. If it names one thing exactly, it redirects to the page of that.
func (d *Dashboard) search(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
	defer cancel()
	v := d.view(ctx, r, "search")
	query := strings.TrimSpace(r.FormValue("q"))
	query = query[:min(len(query), maxParam)]
	found, err := d.find(ctx, query, v.sample)
	if err != nil {
		d.fail(w, r, v, "This page cannot be shown", err)
		return
	}
	exact := slices.DeleteFunc(slices.Clone(found), func(h hit) bool { return !h.Exact })
	if len(exact) == 1 {
		http.Redirect(w, r, d.o.Path+exact[0].To, http.StatusSeeOther)
		return
	}
	v.Title, v.Static, v.Content = "Search", true, hits{query, hitTable.of(r, found)}
	d.write(w, http.StatusOK, d.searchPage, v)
}

// hitTable is the table of what a search has found.
var hitTable = listing[hit]{
	name: "hits", label: "What was found", path: "/search", key: func(h hit) string { return h.To },
	columns: []column[hit]{
		{key: "name", title: "Name", class: "name", cell: func(h hit) cell { return cell{Text: h.Name, To: h.To} }},
		{key: "kind", title: "Kind", cell: text(func(h hit) string { return h.Kind })},
		{key: "note", title: "Note", class: "reason", cell: text(func(h hit) string { return h.Note })},
	},
}

// find searches the names of the configuration, the sample, and the record with an id. It reads no list from Redis and
// scans no table.
func (d *Dashboard) find(ctx context.Context, query string, s *sample) ([]hit, error) {
	if query == "" {
		return nil, nil
	}
	found := d.names(query, s)
	if len(query) >= minText {
		found = append(found, d.failures(query, s, access.Of(ctx).Everywhere(report.Download))...)
	}
	if of, ok := parameterOf(query); ok {
		to := "/records?param=" + url.QueryEscape(of.String())
		records := hit{Kind: "records", Name: of.String(), To: to, Note: "in any state, changed within a day"}
		records.Exact = len(found) == 0
		return append([]hit{records}, found...), nil
	}
	if !report.ValidID(query) || slices.ContainsFunc(found, func(h hit) bool { return h.Exact }) {
		return found, nil
	}
	one, err := d.jobs.contents.Get(ctx, query)
	if errors.Is(err, engine.ErrNoRecord) {
		return found, nil
	}
	return append(found, hit{Kind: "job", Name: query, To: "/jobs/" + query, Note: one.Why.Summary, Exact: true}), err
}

// names finds reports, listeners, sources and timers whose names contain a text, and jobs whose ids begin with it.
func (d *Dashboard) names(query string, s *sample) (found []hit) {
	contain := func(kind, to string, all []string) {
		n := 0
		for _, name := range all {
			if n < maxHits && strings.Contains(strings.ToLower(name), strings.ToLower(query)) {
				found = append(found, hit{Kind: kind, Name: name, To: to + url.QueryEscape(name), Exact: name == query})
				n++
			}
		}
	}
	contain("report", "/reports?only=", slices.Sorted(maps.Keys(d.o.Inspect.Config.Reports)))
	contain("listener", "/listeners?only=", d.o.Listeners)
	contain("source", "/sources#source-", slices.Sorted(maps.Keys(listenersOf(d.o))))
	var timers []string
	for _, t := range s.Timers {
		timers = append(timers, t.Name)
	}
	contain("timer", "/due?timers.only=", timers)
	n := 0
	add := func(kind, id, note string) {
		if n < maxHits && id != query && strings.HasPrefix(id, query) {
			found = append(found, hit{Kind: kind, Name: id, To: "/jobs/" + id, Note: note})
			n++
		}
	}
	for _, j := range s.Jobs {
		add("running job", j.ID, j.Report)
	}
	for _, later := range s.Delayed {
		add("delayed id", later.ID, later.What)
	}
	return found
}

// failures finds groups of dead jobs and quarantined entries whose reasons contain a text. With rows, it searches the
// fields of entries, too, which have rows of data.
func (d *Dashboard) failures(query string, s *sample, rows bool) (found []hit) {
	has := func(text string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(query)) }
	for _, g := range groupsOf(s.Dead) {
		if len(found) < maxHits && has(g.Reason) {
			name := fmt.Sprintf("%s × %s", count(g.Jobs), g.Report)
			found = append(found, hit{Kind: "dead jobs", Name: name, To: "/dead?group=" + g.Key, Note: g.Reason})
		}
	}
	n := 0
	for _, e := range s.Quarantined {
		if n < maxHits && (has(e.Reason) || rows && has(e.Fields)) {
			to := "/quarantine?only=" + url.QueryEscape(e.Entry)
			found = append(found, hit{Kind: "quarantined entry", Name: e.Entry, To: to, Note: e.Reason})
			n++
		}
	}
	return found
}
