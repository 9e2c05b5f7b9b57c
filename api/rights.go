package api

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/report"
)

// anyone needs no right: the handler shows what the user may see.
const anyone = ""

// rights decide what a user may do with reports and records.
type rights struct{ *API }

// check returns the problem of a user who lacks the right that a route needs on its report or record. What the user
// may not see does not exist.
func (a rights) check(r *http.Request, of route) error {
	who := access.Of(r.Context())
	if of.right == anyone || who.Everywhere(of.right) {
		return nil
	}
	if name := r.PathValue("report"); name != "" {
		if who.May(of.right, name) || !a.visible(r, name) {
			return nil // the handler says that it does not exist
		}
		return forbidden(of.right)
	}
	id := r.PathValue("id")
	if id == "" {
		return forbidden(of.right)
	}
	record, err := a.record(r, id)
	switch {
	case err != nil:
		return err
	case who.Can(of.right, record.Report, record.Owner, record.Tenant):
		return nil
	case who.Can(report.See, record.Report, record.Owner, record.Tenant):
		return forbidden(of.right)
	}
	return engine.ErrNoRecord
}

func forbidden(right string) problem {
	return problem{
		Status: http.StatusForbidden, Code: "right",
		Detail: "you lack the right to " + right,
		Remedy: "Ask for a group of http.groups that has it",
	}
}

// visible reports whether a report exists for the user.
func (a rights) visible(r *http.Request, name string) bool {
	who := access.Of(r.Context())
	return a.o.Inspect.Config.Reports[name] != nil && (who.May(report.See, name) || who.May(report.Order, name))
}

// names returns the names of the reports that exist for the user.
func (a rights) names(r *http.Request) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(a.o.Inspect.Config.Reports)) {
		if a.visible(r, name) {
			names = append(names, name)
		}
	}
	return names
}

// handsOut reports whether the client may have the link to the page of a record. It shows the file, and the other
// files of the record's owner, without a login.
func (a rights) handsOut(ctx context.Context, id string) bool {
	who := access.Of(ctx)
	if who.Everywhere(report.Download) {
		return true
	}
	r, err := a.o.Inspect.Jobs.Record(ctx, id)
	if err != nil || !who.Can(report.Download, r.Report, r.Owner, r.Tenant) {
		return false
	}
	for name := range a.o.Inspect.Config.Reports {
		if r.Owner != "" && !who.Can(report.Download, name, r.Owner, r.Tenant) {
			return false
		}
	}
	return true
}

// scoped returns an Idempotency-Key that no other user can send: a repeated key tells that it was used.
func scoped(who access.Who, key string) string {
	if key == "" || who.Name == "" {
		return key
	}
	return fmt.Sprintf("of/%x", sha256.Sum256([]byte(who.Name+"\x00"+key)))
}
