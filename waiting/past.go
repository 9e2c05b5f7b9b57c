package waiting

import (
	"context"
	"sync"
	"time"

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

// exports caches the lists of past exports. It is safe for concurrent use.
type exports struct {
	mu    sync.Mutex
	known map[string]exportList // by person
}

// exportList is a list of past exports without their tokens, which every page makes for itself.
type exportList struct {
	at      time.Time
	ids     []string
	marks   map[string]record.Mark
	names   []string // of the reports
	created []string
}

// pastExports returns the past exports of the person of a pass, without the one that the page shows. If the
// pass has no person or they cannot be read, it returns none.
func (p *Pages) pastExports(ctx context.Context, pass Pass) (all []export) {
	if pass.Person == "" || p.o.People == nil {
		return nil
	}
	l, err := p.exportsOf(ctx, pass.Person)
	if err != nil {
		p.o.Log.Warn("cannot read past exports", "err", err)
		return nil
	}
	for i, id := range l.ids {
		if mark, ok := l.marks[id]; ok && id != pass.ID {
			token := p.o.Seal.Seal(Pass{ID: id, Mark: mark, Expires: pass.Expires, Person: pass.Person})
			all = append(all, export{title(p.o.Reports, l.names[i]), l.created[i], token})
		}
	}
	return all
}

// exportsOf returns the cached list of a person, or reads it. The list is for other pages, too, so a browser that
// disconnects does not end the queries. An error is not cached.
func (p *Pages) exportsOf(ctx context.Context, person string) (exportList, error) {
	p.exports.mu.Lock()
	l, ok := p.exports.known[person]
	p.exports.mu.Unlock()
	if ok && time.Since(l.at) <= maxExportsAge {
		return l, nil
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), queryTimeout)
	defer cancel()
	l = exportList{at: time.Now()}
	found, err := p.o.People.Exports(limited, person, maxExports)
	if err != nil {
		return l, err
	}
	for _, r := range found {
		l.ids, l.names, l.created = append(l.ids, r.ID), append(l.names, r.Report), append(l.created, stamp(time.Now().Add(-r.Age)))
	}
	if l.marks, err = p.o.Records.Marks(limited, l.ids...); err != nil {
		return l, err
	}
	p.exports.mu.Lock()
	defer p.exports.mu.Unlock()
	if p.exports.known == nil || len(p.exports.known) >= maxPeople {
		p.exports.known = map[string]exportList{}
	}
	p.exports.known[person] = l
	return l, nil
}
