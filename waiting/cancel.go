package waiting

import (
	"context"
	"errors"
	"net/http"

	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// cancelReason is the reason of a cancellation, for operators.
const cancelReason = "cancelled on its waiting page"

// cancellable reports whether a record can still be cancelled.
func cancellable(f facts) bool {
	switch f.Job.Job {
	case job.StatusRun, job.StatusReady, job.StatusFold, "":
		return f.Status == report.Pending || f.Status == report.Processing
	default:
		return false
	}
}

// confirm asks whether the report is to be cancelled. It is a page of its own, because it works without
// JavaScript, and is not reloaded while the person reads it.
func (p *Pages) confirm(w http.ResponseWriter, r *http.Request) {
	pass, ok := p.open(w, r)
	if !ok {
		return
	}
	c, err := p.content(r, pass)
	switch {
	case err != nil:
		p.unavailable(w, r, pass, err)
	case !c.Cancel:
		p.back(w, r)
	default:
		in := c.In
		c.view = view{In: in, Class: "warn", Title: in.Say("cancel.ask"), Ended: true}
		c.Says = []string{in.Say("cancel.says")}
		c.Cancel, c.Confirm = false, true
		p.write(w, r, http.StatusOK, c)
	}
}

// cancel cancels the report. The server refuses requests of other sites: see access.Site.Guard.
func (p *Pages) cancel(w http.ResponseWriter, r *http.Request) {
	pass, ok := p.open(w, r)
	if !ok {
		return
	}
	// It has several steps, so it continues if the browser leaves.
	ctx, done := context.WithTimeout(context.WithoutCancel(r.Context()), access.ChangeTime)
	defer done()
	f, err := p.factsOf(ctx, pass)
	if err == nil && cancellable(f) {
		if _, err = p.o.Cancel(ctx, pass.ID, cancelReason); err == nil {
			access.Change(ctx, "action", "cancel", "job", pass.ID)
		}
	}
	if err != nil && !errors.Is(err, fault.Refused) { // refused: the page shows how it has ended
		p.unavailable(w, r, pass, err)
		return
	}
	p.back(w, r)
}

// back leads from a path below the page to the page.
func (p *Pages) back(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Location", "../"+r.PathValue("token")+p.folder.Page(r).Query)
	w.WriteHeader(http.StatusSeeOther)
}
