package waiting

import (
	"context"
	"sync"
	"time"

	"github.com/fanfold/fanfold/engine/record"
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
	p.exports.mu.Lock()
	l, ok := p.exports.known[pass.Person]
	p.exports.mu.Unlock()
	if !ok || time.Since(l.at) > maxExportsAge {
		l = exportList{at: time.Now()}
		limited, cancel := context.WithTimeout(ctx, queryTimeout)
		defer cancel()
		found, err := p.o.People.Exports(limited, pass.Person, maxExports)
		for _, r := range found {
			l.ids, l.names, l.created = append(l.ids, r.ID), append(l.names, r.Report), append(l.created, stamp(time.Now().Add(-r.Age)))
		}
		if err == nil {
			l.marks, err = p.o.Records.Marks(limited, l.ids...)
		}
		if err != nil {
			p.o.Log.Warn("cannot read past exports", "err", err)
		}
		p.exports.mu.Lock()
		if p.exports.known == nil || len(p.exports.known) >= maxPeople {
			p.exports.known = map[string]exportList{}
		}
		p.exports.known[pass.Person] = l
		p.exports.mu.Unlock()
	}
	for i, id := range l.ids {
		if mark, ok := l.marks[id]; ok && id != pass.ID {
			token := p.o.Seal.Seal(Pass{ID: id, Mark: mark, Expires: pass.Expires, Person: pass.Person})
			all = append(all, export{title(p.o.Reports, l.names[i]), l.created[i], token})
		}
	}
	return all
}
