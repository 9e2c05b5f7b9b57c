package waiting

import (
	"context"
	"sync"
	"time"
)

const (
	// exportsAge is how old a list of past exports may be.
	exportsAge = 15 * time.Second
	// maxExports is how many records of a person are read.
	maxExports = 20
	// maxPeople is how many lists are kept.
	maxPeople = 1000
)

// export is a past export of the person.
type export struct{ Report, Made, Token string }

// exports are the lists that were shown just now, by person. They are safe for concurrent use.
type exports struct {
	mu    sync.Mutex
	known map[string]listed
}

// listed is a list, whose tokens are made anew for each page.
type listed struct {
	at    time.Time
	ids   []string
	names []string // of the reports
	made  []string
}

// pastExports are those of the person whom a pass names, but for the one that the page is of; nil
// where it names nobody. A page is whole without them.
func (p *Pages) pastExports(ctx context.Context, pass Pass) (all []export) {
	if pass.Person == "" || p.o.People == nil {
		return nil
	}
	p.exports.mu.Lock()
	l, ok := p.exports.known[pass.Person]
	p.exports.mu.Unlock()
	if !ok || time.Since(l.at) > exportsAge {
		l = listed{at: time.Now()}
		limited, cancel := context.WithTimeout(ctx, lookTime)
		defer cancel()
		found, err := p.o.People.Exports(limited, pass.Person, maxExports)
		if err != nil {
			p.o.Log.Warn("past exports are not shown", "err", err)
		}
		for _, r := range found {
			l.ids, l.names, l.made = append(l.ids, r.ID), append(l.names, r.Report), append(l.made, stamp(time.Now().Add(-r.Age)))
		}
		p.exports.mu.Lock()
		if p.exports.known == nil || len(p.exports.known) >= maxPeople {
			p.exports.known = map[string]listed{}
		}
		p.exports.known[pass.Person] = l
		p.exports.mu.Unlock()
	}
	for i, id := range l.ids {
		if id != pass.ID {
			token := p.o.Seal.Seal(Pass{ID: id, Expires: pass.Expires, Person: pass.Person})
			all = append(all, export{title(p.o.Reports, l.names[i]), l.made[i], token})
		}
	}
	return all
}
