package order

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/waiting"
	"github.com/fanfold/fanfold/web/languages"
	"github.com/fanfold/fanfold/web/link"
	"github.com/fanfold/fanfold/web/seal"
)

const (
	// maxListAge is the maximum age of a list. Within it, all pages of a person cost one query.
	maxListAge = 1500 * time.Millisecond
	// maxExports is the maximum number of records in a list.
	maxExports = 20
	// maxPeople is the maximum number of lists in the cache.
	maxPeople = 1000
	// queryTimeout bounds the queries for a page.
	queryTimeout = 10 * time.Second
	// maxStreams is the maximum number of browsers that receive live updates.
	maxStreams = 1000
	// maxStreamsOf is the maximum for one person, so that one cannot use all streams.
	maxStreamsOf = 20
)

// owner is who the records of a list belong to.
type owner struct{ person, tenant string }

// export is a record of the person.
type export struct {
	waiting.Brief
	ID, Name, Report string    // Report is its title
	Again            bool      // the person may order it again
	Created          time.Time // zero: unknown
}

// mine has the records of the person of a link.
type mine struct{ *Pages }

// newest reads the list of a person.
func (p mine) newest(ctx context.Context, of owner) ([]engine.Record, error) {
	return p.o.Newest(ctx, of.person, of.tenant, maxExports)
}

// list returns the newest records of the person, and whether one of them has not ended.
func (p mine) list(ctx context.Context, in *languages.Language, pass Pass) (all []export, live bool, err error) {
	records, err := p.lists.Get(ctx, owner{pass.Person, pass.Tenant})
	if err != nil {
		return nil, false, err
	}
	for _, r := range records {
		if !pass.May(r.Report) {
			continue
		}
		one := export{ID: r.ID, Name: r.Report, Report: waiting.Title(p.o.Reports, r.Report)}
		if one.Brief, err = p.o.Waiting.Brief(ctx, in, r); err != nil {
			return nil, false, err
		}
		one.Again = p.o.Reports[r.Report] != nil
		if r.Created > 0 {
			// It is computed from an age, which varies a little.
			one.Created = time.Now().Add(-r.Created).Round(time.Minute)
		}
		all, live = append(all, one), live || !one.Ended
	}
	return all, live, nil
}

// export leads to the waiting page of a record of the person, or to its file.
func (p mine) export(w http.ResponseWriter, r *http.Request) {
	pass, ok := p.open(w, r)
	if !ok {
		return
	}
	was, err := p.record(r.Context(), pass, r.PathValue("id"))
	to := ""
	if err == nil {
		to, err = p.o.Waiting.Link(r.Context(), was.ID, pass.Expires)
	}
	switch {
	case errors.Is(err, engine.ErrNoRecord), err == nil && to == "":
		p.refuse(w, r, seal.ErrToken)
	case err != nil:
		p.unavailable(w, r, err)
	case strings.HasSuffix(r.URL.Path, "/file"):
		p.redirect(w, r, to+"/file")
	default:
		p.redirect(w, r, to)
	}
}

// record returns the record of an id if it is one of the person and of a report of the link; else engine.ErrNoRecord.
func (p mine) record(ctx context.Context, pass Pass, id string) (engine.Record, error) {
	if !report.ValidID(id) {
		return engine.Record{}, engine.ErrNoRecord
	}
	was, err := p.o.Record(ctx, id)
	if err == nil && (was.Owner != pass.Person || was.Tenant != pass.Tenant || !pass.May(was.Report)) {
		err = engine.ErrNoRecord
	}
	return was, err
}

// live sends the list of exports whenever it changes.
func (p mine) live(w http.ResponseWriter, r *http.Request) {
	pass, ok := p.open(w, r)
	if !ok {
		return
	}
	key := pass.Tenant + "\x00" + pass.Person
	if !p.streams.Open(key) {
		http.Error(w, p.folder.In(r).Say("too-many"), http.StatusServiceUnavailable)
		return
	}
	defer p.streams.Close(key)
	link.Live(w, r, pass.Expires, layout, "exports", func() (any, bool, error) {
		c := p.content(r, pass, "")
		c.Base = "" // of the page, which shows the list
		var err error
		c.Exports, c.Live, err = p.list(r.Context(), c.In, pass)
		return c, err == nil && !c.Live, err
	})
}
