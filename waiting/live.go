package waiting

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// maxStreams is how many browsers are told of changes at once. The others load the page again
	// from time to time.
	maxStreams = 1000
	// maxStreamsOf is how many of them may follow the same record: one link cannot take them all.
	maxStreamsOf = 20
	// liveEvery is how often a browser is told how a job stands.
	liveEvery = 2 * time.Second
	// writeTime is how long a browser may take to receive a message.
	writeTime = 10 * time.Second
)

// streams counts browsers that are told of changes. It is safe for concurrent use.
type streams struct {
	mu  sync.Mutex
	all int
	of  map[string]int // by the id of the record
}

// open counts one more; false: that is too many.
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

// close counts one less.
func (s *streams) close(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.of[id]--; s.of[id] == 0 {
		delete(s.of, id)
	}
}

// live tells a browser, as server-sent events, what the page says as soon as it says something else,
// until nothing changes any more or the link ends.
func (p *Pages) live(w http.ResponseWriter, r *http.Request) {
	pass, ok := p.open(w, r)
	if !ok {
		return
	}
	if !p.streams.open(pass.ID) {
		http.Error(w, "Too many pages are open: load yours again.", http.StatusServiceUnavailable)
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
		if s, err := p.seen(r.Context(), r.PathValue("token"), pass); err == nil {
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
		if to.SetWriteDeadline(time.Now().Add(writeTime)) != nil {
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
