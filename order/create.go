package order

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/operate"
	"github.com/fanfold/fanfold/record"
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
	id, err := p.o.Create(ctx, onceKey(one, r.PostForm.Get("key")), one)
	switch {
	case id != "" && err != nil: // only the push failed: the job of the record starts without it
		p.o.Log.Warn("record inserted but not pushed; the job starts when Redis answers", "job", id, "err", err)
	case errors.Is(err, operate.ErrUnfinished):
		n := strconv.Itoa(operate.MaxUnfinished)
		p.ask(w, r, http.StatusTooManyRequests, pass, of, sent, "order.too-many", "n", n)
		return
	case errors.Is(err, fault.Input):
		p.ask(w, r, http.StatusUnprocessableEntity, pass, of, sent, "order.too-large")
		return
	case err != nil:
		p.o.Log.Error("cannot order a report", "report", of.Name, "err", err)
		p.ask(w, r, http.StatusServiceUnavailable, pass, of, sent, "order.failed")
		return
	}
	access.Change(ctx, "action", "order", "report", of.Name, "job", id)
	to, err := p.o.Waiting.Link(ctx, id, pass.Expires)
	if err != nil || to == "" { // it is in the list
		p.o.Log.Warn("cannot create a link to a waiting page", "job", id, "err", err)
		to = "o/" + r.PathValue("token")
	}
	p.redirect(w, r, to)
}

// onceKey returns the key with which a record is created once. It is one of the person's own, so that nobody finds
// the record of another, and of the values, because a browser may send the key of a form again with others.
func onceKey(of record.Request, key string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q", of.Tenant, of.Owner, of.Report, of.Parameters, key))
	return "order " + hex.EncodeToString(sum[:])
}
