package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/internal/moment"
	"github.com/fanfold/fanfold/order"
	"github.com/fanfold/fanfold/report"
)

// orderTime is how long a link to order reports is valid if the client does not say it.
const orderTime = "1h"

// orderLink is the answer with a link to order reports.
type orderLink struct {
	URL     string    `json:"url"`
	Expires time.Time `json:"expires"`
}

// createOrderLink makes a link with which a person orders reports.
func createOrderLink(a *API, w http.ResponseWriter, r *http.Request) error {
	if a.o.OrderURL == nil {
		return problem{
			Status: http.StatusConflict, Code: "state",
			Detail: "this server has no pages behind links",
			Remedy: "Set http.url and http.link_secret, and not http.read_only",
		}
	}
	body, err := jsonBody(r)
	if err != nil {
		return err
	}
	var request struct {
		Person  string   `json:"person"`
		Tenant  string   `json:"tenant"`
		Reports []string `json:"reports"`
		Valid   string   `json:"valid"`
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&request); err != nil {
		return problem{
			Status: http.StatusBadRequest, Code: "body",
			Detail: "the body is not a JSON object with person, tenant, reports and valid",
			Remedy: `Send an object such as {"person": "ann", "reports": ["sales"], "valid": "1h"}`,
		}
	}
	valid, err := moment.ParseDuration(cmp.Or(request.Valid, orderTime))
	if err != nil {
		return problem{
			Status: http.StatusUnprocessableEntity, Code: "input", Detail: "valid: " + err.Error(),
			Remedy: `Send a duration such as "12h"`,
		}
	}
	if request.Reports, err = (rights{a}).orderable(r, request.Person, request.Tenant, request.Reports); err != nil {
		return err
	}
	access.Note(r.Context(), "person", report.Shorten(request.Person), "tenant", report.Shorten(request.Tenant))
	pass := order.Pass{
		Person: request.Person, Tenant: request.Tenant, Reports: request.Reports,
		Expires: time.Now().Add(valid).UTC().Truncate(time.Second),
	}
	url, err := a.o.OrderURL(r.Context(), pass)
	if err != nil {
		return err
	}
	return answer(w, http.StatusCreated, orderLink{url, pass.Expires})
}

// orderable returns the reports of a link for a person; none: all. The client must have the rights that the link
// gives: to order a report for the person, and to download the person's files of it.
func (a rights) orderable(r *http.Request, person, tenant string, asked []string) (names []string, err error) {
	who := access.Of(r.Context())
	denied := func(name string) bool {
		return !who.Can(report.Order, name, person, tenant) || !who.Can(report.Download, name, person, tenant)
	}
	switch {
	case len(asked) > 0:
		names = asked
	case who.Everywhere(report.Order) && who.Everywhere(report.Download):
		return nil, nil
	default:
		names = slices.DeleteFunc(a.names(r), denied)
	}
	if len(names) == 0 || slices.ContainsFunc(names, denied) {
		return nil, forbidden("order and download these reports for this person")
	}
	return names, nil
}
