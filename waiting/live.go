package waiting

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// maxStreams is the maximum number of browsers that receive live updates. Other browsers reload the page
	// every 10 seconds.
	maxStreams = 1000
	// maxStreamsOf is the maximum for one record, so that one link cannot use all streams.
	maxStreamsOf = 20
	// liveEvery is how often a stream reads the state of its job.
	liveEvery = 2 * time.Second
	// writeTimeout is how long a browser may take to receive a message.
	writeTimeout = 10 * time.Second
)

// streams counts the open streams. It is safe for concurrent use.
type streams struct {
	mu  sync.Mutex
	all int
	of  map[string]int // by the id of the record
}

// open counts one more stream, or returns false if there are too many.
func (s *streams) open(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= maxStreams || s.of[id] >= maxStreamsOf {
		return false
	}
	if s.of == nil {
		s.of = map[string]int{}
	}
	s.all++
	s.of[id]++
	return true
}

// close counts one stream less.
func (s *streams) close(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.of[id]--; s.of[id] == 0 {
		delete(s.of, id)
	}
}

// live sends the main part of the page, as server-sent events, whenever it changes. The stream ends when the
// record is final or the link expires.
func (p *Pages) live(w http.ResponseWriter, r *http.Request) {
	pass, ok := p.open(w, r)
	if !ok {
		return
	}
	if !p.streams.open(pass.ID) {
		http.Error(w, "Too many pages are open. Reload this page to update it.", http.StatusServiceUnavailable)
		return
	}
	defer p.streams.close(pass.ID)
	to := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	for last := ""; ; {
		text, ended := ": \n\n", time.Now().After(pass.Expires)
		if s, err := p.content(r.Context(), r.PathValue("token"), pass); err == nil {
			var out bytes.Buffer
			if layout.ExecuteTemplate(&out, "main", s) != nil {
				return
			}
			if now := out.String(); now != last {
				last, text = now, "data: "+strings.ReplaceAll(strings.TrimSpace(now), "\n", "\ndata: ")+"\n\n"
			}
			ended = ended || s.Ended
		}
		if ended {
			text += "event: end\ndata: end\n\n"
		}
		if to.SetWriteDeadline(time.Now().Add(writeTimeout)) != nil {
			return
		}
		if _, err := w.Write([]byte(text)); err != nil || to.Flush() != nil || ended {
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}
