package access

import (
	"context"
	"slices"

	"github.com/fanfold/fanfold/report"
)

// Who is the user of a request, or the service whose token it has.
type Who struct {
	Name    string                              // empty: there is no login
	Session bool                                // the user has logged in with the form
	lasts   func(context.Context) (bool, error) // whether the session has not ended; nil: there is none
	groups  []report.Group
	all     bool // there is no login: everyone may do everything
	reads   bool // nothing may be changed
}

type key struct{}

// Of returns the user of a request that Login has accepted.
func Of(ctx context.Context) Who {
	who, _ := ctx.Value(key{}).(Who)
	return who
}

// implied are the rights that include another one.
var implied = map[string][]string{report.See: {report.Download, report.Operate}}

// with returns the groups that give a right; everything: the user needs none.
func (w Who) with(right string) (groups []report.Group, everything bool) {
	if w.reads && (right == report.Order || right == report.Operate) {
		return nil, false
	}
	for _, g := range w.groups {
		gives := func(one string) bool { return slices.Contains(g.May, one) }
		if gives(right) || slices.ContainsFunc(implied[right], gives) {
			groups = append(groups, g)
		}
	}
	return groups, w.all
}

// concerns reports whether a group is about a report.
func concerns(g report.Group, name string) bool {
	return len(g.Reports) == 0 || slices.Contains(g.Reports, name)
}

// May reports whether the user has a right on records of a report, perhaps not on all of them.
func (w Who) May(right, name string) bool {
	groups, everything := w.with(right)
	return everything || slices.ContainsFunc(groups, func(g report.Group) bool { return concerns(g, name) })
}

// Can reports whether the user has a right on one record.
func (w Who) Can(right, name, owner, tenant string) bool {
	groups, everything := w.with(right)
	return everything || slices.ContainsFunc(groups, func(g report.Group) bool {
		return concerns(g, name) && (!g.Own || owner == w.Name && w.Name != "") &&
			(g.Tenant == "" || g.Tenant == tenant)
	})
}

// Everywhere reports whether the user has a right on all records of all reports.
func (w Who) Everywhere(right string) bool {
	groups, everything := w.with(right)
	return everything || slices.ContainsFunc(groups, func(g report.Group) bool {
		return len(g.Reports) == 0 && !g.Own && g.Tenant == ""
	})
}

// Operator reports whether the user may make every change.
func (w Who) Operator() bool { return w.Everywhere(report.Operate) }

// Changes reports whether the user may make any change.
func (w Who) Changes() bool {
	order, everything := w.with(report.Order)
	operate, _ := w.with(report.Operate)
	return len(order)+len(operate) > 0 || everything && !w.reads
}

// Scopes returns the records on which the user has a right; nil: all.
func (w Who) Scopes(right string) (all []report.Scope) {
	if w.Everywhere(right) {
		return nil
	}
	all = []report.Scope{}
	groups, _ := w.with(right)
	for _, g := range groups {
		one := report.Scope{Reports: g.Reports, Tenant: g.Tenant}
		if g.Own {
			if w.Name == "" {
				continue
			}
			one.Owner = w.Name
		}
		all = append(all, one)
	}
	return all
}

// For returns the owner and the tenant of a new record of a report that the user may order. Of several groups, the one
// decides that gives the least right to records of others: one with Own, then one with a Tenant, then the first one.
// Both are empty if no such group has either, or there is no login.
func (w Who) For(name string) (owner, tenant string) {
	groups, _ := w.with(report.Order)
	groups = slices.DeleteFunc(groups, func(g report.Group) bool { return !concerns(g, name) })
	if len(groups) == 0 {
		return "", ""
	}
	breadth := func(g report.Group) (n int) {
		if !g.Own {
			n = 2
		}
		if g.Tenant == "" {
			n++
		}
		return n
	}
	g := slices.MinFunc(groups, func(a, b report.Group) int { return breadth(a) - breadth(b) })
	if g.Own {
		owner = w.Name
	}
	return owner, g.Tenant
}
