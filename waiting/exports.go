package waiting

import (
	"context"
	"time"

	"github.com/fanfold/fanfold/internal/aged"
	"github.com/fanfold/fanfold/record"
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
type export struct{ Report, Created, Token string }

// exports finds the past exports of people.
type exports struct {
	o     Options
	lists aged.Cache[string, exportList] // by person
}

// exportList is a list of past exports without their tokens, which every page makes for itself.
type exportList struct {
	ids     []string
	marks   map[string]record.Mark
	names   []string // of the reports
	created []string
}

// of returns the past exports of the person of a pass, without the one that the page shows. If the
// pass has no person or they cannot be read, it returns none.
func (e *exports) of(ctx context.Context, pass Pass) (all []export) {
	if pass.Person == "" || e.o.People == nil {
		return nil
	}
	l, err := e.lists.Get(ctx, pass.Person)
	if err != nil {
		e.o.Log.Warn("cannot read past exports", "err", err)
		return nil
	}
	for i, id := range l.ids {
		if mark, ok := l.marks[id]; ok && id != pass.ID {
			token := e.o.Seal.Seal(Pass{ID: id, Mark: mark, Expires: pass.Expires, Person: pass.Person})
			all = append(all, export{title(e.o.Inspect.Config.Reports, l.names[i]), l.created[i], token})
		}
	}
	return all
}

// read reads the list of a person.
func (e *exports) read(ctx context.Context, person string) (l exportList, err error) {
	found, err := e.o.People.Exports(ctx, person, maxExports)
	if err != nil {
		return l, err
	}
	for _, r := range found {
		l.ids = append(l.ids, r.ID)
		l.names = append(l.names, r.Report)
		l.created = append(l.created, stamp(time.Now().Add(-r.Age)))
	}
	l.marks, err = e.o.Inspect.Records.Marks(ctx, l.ids...)
	return l, err
}
