package order

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/waiting"
)

// maxPlain is the maximum number of reports in a catalogue without a search field.
const maxPlain = 10

// item is a report of the catalogue.
type item struct{ Name, Title, Description string }

// catalogue shows the reports that the person may order, and the person's exports.
func (p *Pages) catalogue(w http.ResponseWriter, r *http.Request) {
	pass, ok := p.open(w, r)
	if !ok {
		return
	}
	c := p.content(r, pass, p.folder.In(r).Say("order"))
	c.Reports = p.items(pass)
	c.Search = strings.TrimSpace(r.URL.Query().Get("q"))
	c.Many = len(c.Reports) > maxPlain
	if words := strings.Fields(strings.ToLower(c.Search)); c.Many {
		c.Reports = slices.DeleteFunc(c.Reports, func(i item) bool {
			text := strings.ToLower(i.Title + " " + i.Name + " " + i.Description)
			return slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
		})
	}
	var err error
	if c.Exports, c.Live, err = (mine{p}).list(r.Context(), c.In, pass); err != nil {
		p.o.Log.Warn("cannot read the exports of a person", "err", err)
		c.Says = []string{c.In.Say("order.exports.unavailable")}
	}
	p.write(w, r, http.StatusOK, c)
}

// items returns the reports of a pass, by their titles.
func (p *Pages) items(pass Pass) (all []item) {
	for name, of := range p.o.Reports {
		if pass.May(name) {
			all = append(all, item{name, waiting.Title(p.o.Reports, name), of.Description})
		}
	}
	slices.SortFunc(all, func(a, b item) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a.Title), strings.ToLower(b.Title)), cmp.Compare(a.Name, b.Name))
	})
	return all
}
