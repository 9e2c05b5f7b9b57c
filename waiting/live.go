package waiting

import (
	"net/http"

	"github.com/fanfold/fanfold/web/link"
)

const (
	// maxStreams is the maximum number of browsers that receive live updates. Other browsers reload the page
	// every 10 seconds.
	maxStreams = 1000
	// maxStreamsOf is the maximum for one record, so that one link cannot use all streams.
	maxStreamsOf = 20
)

// live sends the main part of the page whenever it changes, until the record is final.
func (p *Pages) live(w http.ResponseWriter, r *http.Request) {
	pass, ok := p.open(w, r)
	if !ok {
		return
	}
	if !p.streams.Open(pass.ID) {
		http.Error(w, p.folder.In(r).Say("too-many"), http.StatusServiceUnavailable)
		return
	}
	defer p.streams.Close(pass.ID)
	link.Live(w, r, pass.Expires, layout, "main", func() (any, bool, error) {
		c, err := p.content(r, pass)
		return c, c.Ended, err
	})
}
