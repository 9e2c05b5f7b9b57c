package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/audit"
)

// maxActs is how many acts a page shows.
const maxActs = 100

// acts is the content of the page of what people did.
type acts struct {
	Who, Act, ID string // the filter
	Rows         []audit.Act
	Older        string // the query of the next page; empty: this is the last one
	Unread       error  // why older acts are not shown
}

func (acts) static() {}

// list is the page of what people did, the newest first.
func (p actPages) list(ctx context.Context, r *http.Request, _ *sample) (string, any, error) {
	v := acts{
		Who: strings.TrimSpace(r.FormValue("who")),
		Act: strings.TrimSpace(r.FormValue("act")),
		ID:  strings.TrimSpace(r.FormValue("id")),
	}
	var err error
	v.Rows, err = p.o.Inspect.Acts.List(ctx, inspect.ActFilter{
		Who: v.Who, Act: v.Act, On: inspect.ActsOn(v.ID), Before: r.FormValue("before"),
	}, maxActs)
	if v.Rows != nil {
		v.Unread, err = err, nil
	}
	if len(v.Rows) == maxActs {
		last := v.Rows[maxActs-1].Entry
		v.Older = url.Values{"who": {v.Who}, "act": {v.Act}, "id": {v.ID}, "before": {last}}.Encode()
	}
	return "Audit", v, err
}

// actPages makes the page of what people did.
type actPages struct{ o Options }
