package web

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// writeTimeout is how long a client may take to receive an event.
const writeTimeout = 10 * time.Second

// Heartbeat is how often an idle stream sends a comment.
const Heartbeat = 15 * time.Second

// Stream sends server-sent events to one client.
type Stream struct {
	w   http.ResponseWriter
	to  *http.ResponseController
	at  time.Time // of the last write
	err error     // of a write
}

// NewStream sets the header of an answer that is a stream.
func NewStream(w http.ResponseWriter) *Stream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	return &Stream{w: w, to: http.NewResponseController(w)}
}

// Send sends an event; with an empty name, a message. An error means that the client has disconnected.
func (s *Stream) Send(event, data string) error {
	text := "data: " + strings.ReplaceAll(data, "\n", "\ndata: ") + "\n\n"
	if event != "" {
		text = "event: " + event + "\n" + text
	}
	return s.write(text)
}

// Beat sends a comment if nothing was sent for a time.
func (s *Stream) Beat(every time.Duration) error {
	if time.Since(s.at) < every {
		return nil
	}
	return s.write(": \n\n")
}

// Err returns the error of the first write that failed; nil: none did.
func (s *Stream) Err() error { return s.err }

func (s *Stream) write(text string) error {
	if s.err != nil {
		return s.err
	}
	s.at = time.Now()
	if s.err = s.to.SetWriteDeadline(s.at.Add(writeTimeout)); s.err == nil {
		_, s.err = s.w.Write([]byte(text))
	}
	if s.err == nil {
		s.err = s.to.Flush()
	}
	return s.err
}

// Streams counts open streams, in all and by key. It is safe for concurrent use.
type Streams struct {
	Max   int // in all
	MaxOf int // with the same key other than "", so that one link or user cannot use all; 0: no limit

	mu  sync.Mutex
	all int
	of  map[string]int
}

// Open counts one more stream, or returns false if there are too many.
func (s *Streams) Open(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= s.Max || s.MaxOf > 0 && key != "" && s.of[key] >= s.MaxOf {
		return false
	}
	if s.of == nil {
		s.of = map[string]int{}
	}
	s.all++
	s.of[key]++
	return true
}

// Len returns the number of open streams.
func (s *Streams) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

// Close counts one stream less.
func (s *Streams) Close(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.of[key]--; s.of[key] == 0 {
		delete(s.of, key)
	}
}
