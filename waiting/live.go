package waiting

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"github.com/fanfold/fanfold/web"
)

const (
	// maxStreams is the maximum number of browsers that receive live updates. Other browsers reload the page
	// every 10 seconds.
	maxStreams = 1000
	// maxStreamsOf is the maximum for one record, so that one link cannot use all streams.
	maxStreamsOf = 20
	// liveEvery is how often a stream reads the state of its job.
	liveEvery = 2 * time.Second
)

// live sends the main part of the page, as server-sent events, whenever it changes. The stream ends when the
// record is final or the link expires.
func (p *Pages) live(w http.ResponseWriter, r *http.Request) {
	pass, ok := p.open(w, r)
	if !ok {
		return
	}
	if !p.streams.Open(pass.ID) {
		http.Error(w, p.language(r).Say("too-many"), http.StatusServiceUnavailable)
		return
	}
	defer p.streams.Close(pass.ID)
	to := web.NewStream(w)
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	for last := ""; to.Err() == nil; {
		ended := time.Now().After(pass.Expires)
		now := last
		if s, err := p.content(r, pass); err == nil {
			var out bytes.Buffer
			if layout.ExecuteTemplate(&out, "main", s) != nil {
				return
			}
			now, ended = strings.TrimSpace(out.String()), ended || s.Ended
		}
		if now == last {
			_ = to.Beat(0)
		} else {
			_ = to.Send("", now)
			last = now
		}
		if ended {
			_ = to.Send("end", "end")
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}
