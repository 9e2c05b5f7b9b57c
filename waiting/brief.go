package waiting

import (
	"context"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/web/languages"
)

// Brief is the state of a record in a list.
type Brief struct {
	Class, Title string
	Says         string // one sentence; empty: none
	Share        int    // of the parts, in percent; 0: no bar
	Left         string // the time left; empty: unknown
	Ended        bool
	File         bool // can be downloaded
}

// Records has the records of Pages, for other pages.
type Records struct{ *Pages }

// Brief returns the state of a record that was read just now. If it has not ended, Brief reads its progress.
func (p Records) Brief(ctx context.Context, in *languages.Language, r engine.Record) (Brief, error) {
	f := facts{Job: inspect.Job{
		ID: r.ID, Report: r.Report, Status: r.Status, Parameters: r.Parameters, File: r.File, Rows: r.Rows,
	}}
	if !r.Status.Final() {
		var err error
		if f, err = p.facts.Get(ctx, r.ID); err != nil {
			return Brief{}, err
		}
	}
	f.Now = time.Now()
	v := describe(in, f, p.o.Inspect.Config.Reports)
	b := Brief{Class: v.Class, Title: v.Title, Share: v.Share, Left: v.Left, Ended: v.Ended, File: v.Result != nil}
	if len(v.Says) > 0 && (!v.Ended || f.Status == report.Failed) {
		b.Says = v.Says[0]
	}
	return b, nil
}

// Link returns the path of a record's page, which lists no other records, below that of all pages; empty: the record
// was deleted.
func (p Records) Link(ctx context.Context, id string, until time.Time) (string, error) {
	marks, err := p.o.Inspect.Records.Marks(ctx, id)
	mark, ok := marks[id]
	if err != nil || !ok {
		return "", err
	}
	return "r/" + p.o.Seal.Seal(Pass{ID: id, Mark: mark, Expires: until}), nil
}
