package process

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/order"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/waiting"
	"github.com/fanfold/fanfold/web/seal"
)

// orders returns the handler of the pages to order from.
func (p site) orders(in *inspect.Inspector, door *access.Site, sealer *seal.Sealer, pages *waiting.Pages) http.Handler {
	o := order.Options{
		Seal: order.NewSealer(sealer), Waiting: waiting.Records{Pages: pages},
		Reports: p.Config.Reports, Record: in.Jobs.Record,
		Newest: in.Records.People().Newest, Create: p.Operate.Orders.Place,
		Language: p.Config.HTTP.Language, Frames: p.Config.HTTP.FrameAncestors, Log: p.log,
	}
	if form := door.Form(); form != nil {
		o.User = form.User
	}
	return order.New(o)
}

// ownOrderTime is how long the link is valid to which ownOrders leads.
const ownOrderTime = 12 * time.Hour

// ownOrders leads a person who has logged in to the page to order from, with the reports that the person may order.
func (p site) ownOrders(sealer *seal.Sealer, path string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who := access.Of(r.Context())
		pass := order.Pass{Person: who.Name, Expires: time.Now().Add(ownOrderTime)}
		for _, name := range slices.Sorted(maps.Keys(p.Config.Reports)) {
			if !who.May(report.Order, name) {
				continue
			}
			// A link is for one tenant: that of the first report.
			_, tenant := who.For(name)
			if !who.Can(report.Download, name, who.Name, tenant) {
				continue // the link shows files without a login
			}
			if pass.Reports == nil {
				pass.Tenant = tenant
			}
			if tenant == pass.Tenant {
				pass.Reports = append(pass.Reports, name)
			}
		}
		if who.Name == "" || pass.Reports == nil {
			http.Error(w, "You may not order and download reports. Log in as a user who may.", http.StatusForbidden)
			return
		}
		// A link for all reports is also for those that are added later, which no group names.
		all := func(right string) bool { return who.Can(right, "", who.Name, pass.Tenant) }
		if len(pass.Reports) == len(p.Config.Reports) && all(report.Order) && all(report.Download) {
			pass.Reports = nil
		}
		token, err := order.NewSealer(sealer).Seal(pass)
		if err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		http.Redirect(w, r, path+"/o/"+token, http.StatusSeeOther)
	}
}

// orderLinks returns the function that makes links for clients of the API; nil: there are no pages to order from.
func (p site) orderLinks() func(context.Context, order.Pass) (string, error) {
	if linkable(p.Config.HTTP) != nil || p.Config.HTTP.ReadOnly {
		return nil
	}
	return func(ctx context.Context, pass order.Pass) (string, error) { return OrderURL(ctx, p.Process, pass) }
}

// OrderURL returns the address of the page to order from for a pass. Anyone who has the address can order reports
// for the person, and read the person's records.
func OrderURL(ctx context.Context, p *Process, pass order.Pass) (string, error) {
	if err := linkable(p.Config.HTTP); err != nil {
		return "", err
	}
	for _, name := range pass.Reports {
		if p.Config.Reports[name] == nil {
			return "", fault.Input.New("there is no report %s: the reports are %s", report.Shorten(name),
				report.Listing(slices.Sorted(maps.Keys(p.Config.Reports))))
		}
	}
	if wait := time.Until(pass.Expires); wait <= 0 || wait > seal.MaxTime {
		return "", fault.Input.New("a link is valid for 1s to %s", seal.MaxTime)
	}
	sealer, err := newSealer(ctx, p)
	if err != nil {
		return "", err
	}
	token, err := order.NewSealer(sealer).Seal(pass)
	if err != nil {
		return "", err
	}
	return p.Config.HTTP.URL + "/o/" + token, nil
}
