package waiting

import (
	"context"
	"time"

	"github.com/fanfold/fanfold/internal/aged"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

const (
	// maxExportsAge is the maximum age of a list of past exports.
	maxExportsAge = 15 * time.Second
	// maxExports is the maximum number of records that are read for a person.
	maxExports = 20
	// maxPeople is the maximum number of lists in the cache.
	maxPeople = 1000
)

// export is a past export of a person.
type export struct {
	id, Report, Token string
	Created           time.Time
}

// owner is who the records of a list belong to.
type owner struct{ person, tenant string }

// exports finds the past exports of people.
type exports struct {
	o     Options
	lists aged.Cache[owner, exportList]
}

// exportList is a list of past exports without their tokens, which every page makes for itself.
type exportList struct {
	exports []export
	marks   map[string]record.Mark
}

// of returns the past exports of the person of a pass, without the one that the page shows. If the
// pass has no person or they cannot be read, it returns none.
func (e *exports) of(ctx context.Context, pass Pass) (all []export) {
	if pass.Person == "" {
		return nil
	}
	l, err := e.lists.Get(ctx, owner{pass.Person, pass.Tenant})
	if err != nil {
		e.o.Log.Warn("cannot read past exports", "err", err)
		return nil
	}
	for _, one := range l.exports {
		if mark, ok := l.marks[one.id]; ok && one.id != pass.ID {
			one.Token = e.o.Seal.Seal(Pass{ID: one.id, Mark: mark, Expires: pass.Expires, Person: pass.Person,
				Tenant: pass.Tenant})
			all = append(all, one)
		}
	}
	return all
}

// read reads the list of a person.
func (e *exports) read(ctx context.Context, of owner) (l exportList, err error) {
	found, err := e.o.People.Newest(ctx, of.person, of.tenant, maxExports)
	if err != nil {
		return l, err
	}
	var ids []string
	for _, r := range found {
		if !r.Status.HasFile() || report.Skipped(r.Status, r.File, r.Rows) {
			continue
		}
		ids = append(ids, r.ID)
		l.exports = append(l.exports, export{
			id: r.ID, Report: Title(e.o.Inspect.Config.Reports, r.Report), Created: time.Now().Add(-r.Age),
		})
	}
	l.marks, err = e.o.Inspect.Records.Marks(ctx, ids...)
	return l, err
}
