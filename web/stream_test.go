package web

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// TestStream: an event can have several lines, and a comment is sent only if the stream is idle.
func TestStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &client{ResponseRecorder: httptest.NewRecorder()}
		s := NewStream(w)
		for _, err := range []error{s.Send("", "one\ntwo"), s.Beat(time.Second), s.Send("end", "x"), s.Beat(0)} {
			if err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Second)
		if err := s.Beat(time.Second); err != nil {
			t.Error(err)
		}
		want := "data: one\ndata: two\n\nevent: end\ndata: x\n\n: \n\n: \n\n"
		if w.Body.String() != want || !w.Flushed || w.Header().Get("Content-Type") != "text/event-stream" || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%q %v", w.Body, w.Header())
		}
		if w.until != time.Now().Add(writeTimeout) {
			t.Errorf("the client may take until %s", w.until)
		}
	})
}

// TestStreamOfAClientThatLeft: nothing is written after an error.
func TestStreamOfAClientThatLeft(t *testing.T) {
	t.Parallel()
	w := &client{ResponseRecorder: httptest.NewRecorder(), err: errors.New("left")}
	s := NewStream(w)
	if err := s.Send("", "one"); !errors.Is(err, w.err) || !errors.Is(s.Err(), w.err) {
		t.Error(err, s.Err())
	}
	w.err = nil
	if err := s.Beat(0); err == nil || w.Body.Len() > 0 {
		t.Errorf("%v %q", err, w.Body)
	}
}

// client is a client whose writes have a deadline, and may fail.
type client struct {
	*httptest.ResponseRecorder
	until time.Time
	err   error
}

func (c *client) SetWriteDeadline(until time.Time) error {
	c.until = until
	return nil
}

func (c *client) Write(b []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	return c.ResponseRecorder.Write(b)
}

// TestStreams: one key cannot use all streams.
func TestStreams(t *testing.T) {
	t.Parallel()
	s := Streams{Max: 10, MaxOf: 3}
	for range 3 {
		if !s.Open("a") {
			t.Fatal("refused too early")
		}
	}
	if s.Open("a") || !s.Open("b") {
		t.Error("a uses all streams")
	}
	s.Close("a")
	if !s.Open("a") {
		t.Error("a stream that has ended counts")
	}
	for range 3 {
		s.Close("a")
	}
	s.Close("b")
	for range 4 {
		if !s.Open("") {
			t.Error("who has no name is refused too early")
		}
	}
	for range 4 {
		s.Close("")
	}
	if len(s.of) > 0 || s.Len() != 0 {
		t.Errorf("%+v", s.of)
	}
	for i := range 10 {
		if !s.Open(string(rune('a' + i))) {
			t.Fatal(i)
		}
	}
	if s.Open("z") || s.Open("") {
		t.Error("too many streams in all")
	}
}

// TestStreamScript: the pages load the code that follows a stream.
func TestStreamScript(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	StreamScript(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/javascript; charset=utf-8" || w.Body.Len() < 100 {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}
