package order

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/web/form"
)

// create creates the record of a form, and leads to its waiting page. The server refuses requests of other sites:
// see access.Site.Guard.
func (p *Pages) create(w http.ResponseWriter, r *http.Request) {
	pass, ok := p.open(w, r)
	if !ok {
		return
	}
	of := p.report(w, r, pass)
	if of == nil {
		return
	}
	if err := r.ParseForm(); err != nil {
		p.ask(w, r, http.StatusRequestEntityTooLarge, pass, of, form.Of(of, nil), "order.too-large")
		return
	}
	parameters, sent := form.Read(of, r.PostForm, time.Now())
	if len(sent.Wrong) > 0 {
		p.ask(w, r, http.StatusUnprocessableEntity, pass, of, sent, "order.wrong")
		return
	}
	ctx, cancel := acts(r, pass)
	defer cancel()
	one := record.Request{Report: of.Name, Parameters: parameters, Owner: pass.Person, Tenant: pass.Tenant}
	id, full := mine{p}.full(ctx, of, one)
	var err error
	if !full {
		id, _, err = p.o.Create(ctx, onceKey(one, r.PostForm.Get("key")), one)
	}
	switch {
	case full && id == "":
		p.ask(w, r, http.StatusTooManyRequests, pass, of, sent, "order.too-many")
		return
	case id != "" && err != nil: // only the push failed: the job of the record starts without it
		p.o.Log.Warn("record inserted but not pushed; the job starts when Redis answers", "job", id, "err", err)
	case errors.Is(err, fault.Input):
		p.ask(w, r, http.StatusUnprocessableEntity, pass, of, sent, "order.too-large")
		return
	case err != nil:
		p.o.Log.Error("cannot order a report", "report", of.Name, "err", err)
		p.ask(w, r, http.StatusServiceUnavailable, pass, of, sent, "order.failed")
		return
	}
	if !full {
		access.Change(ctx, "action", "order", "report", of.Name, "job", id)
	}
	to, err := p.o.Waiting.Link(ctx, id, pass.Expires)
	if err != nil || to == "" { // it is in the list
		p.o.Log.Warn("cannot create a link to a waiting page", "job", id, "err", err)
		to = "o/" + r.PathValue("token")
	}
	p.redirect(w, r, to)
}

// full tells whether none of the newest exports of a person have ended, so that there cannot be another one. If one of
// them is the same as a request, such as after a double click, full returns its id.
func (p mine) full(ctx context.Context, of *report.Report, one record.Request) (id string, full bool) {
	records, err := p.newest(ctx, owner{one.Owner, one.Tenant})
	if err != nil || len(records) < maxExports {
		return "", false
	}
	want, _ := of.Canonical([]byte(one.Parameters), time.Now())
	for _, r := range records {
		if r.Status.Final() {
			return "", false
		}
		got, err := of.Canonical(r.Parameters, time.Now())
		if id == "" && r.Report == of.Name && err == nil && bytes.Equal(got, want) {
			id = r.ID
		}
	}
	return id, true
}

// onceKey returns the key with which a record is created once. It is one of the person's own, so that nobody finds
// the record of another, and of the values, because a browser may send the key of a form again with others.
func onceKey(of record.Request, key string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q", of.Tenant, of.Owner, of.Report, of.Parameters, key))
	return "order " + hex.EncodeToString(sum[:])
}
