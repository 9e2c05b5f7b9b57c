package dashboard

import (
	"context"
	"html/template"
	"strings"
	"testing"
	"time"
)

// TestLoopback: what a page of another site can send as Host is refused.
func TestLoopback(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "localhost:8080": true, "127.0.0.1:1": true, "127.9.9.9": true, "[::1]:80": true, "[::1]": true,
		"": false, "example.com": false, "127.0.0.1.example.com": false, "localhost.example.com:80": false, "192.0.2.1:80": false, "0.0.0.0": false, "[::]:1": false,
	} {
		if loopback(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
}

func TestCountdown(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{41 * time.Second: "0:41", 61 * time.Second: "1:01", 2*time.Hour + 3*time.Minute: "2:03:00", -1: "now"} {
		if got := countdown(d); got != want {
			t.Errorf("%s: %s, not %s", d, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1\u202f000", 1234567: "1\u202f234\u202f567"} {
		if got := count(n); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}

// TestCharts stay in their box, whatever there is to draw.
func TestCharts(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var h history
	for i := range 500 {
		h.add(now.Add(time.Duration(i-500)*15*time.Second), figures{{"jobs_running", ""}: float64(i), {"tasks_lag", "a"}: 1, {"tasks_lag", "b"}: 2}, nil)
	}
	if n := len(h.points); n != 241 && n != 240 {
		t.Errorf("%d points of an hour", n)
	}
	for _, points := range [][]point{nil, h.points[:1], h.points} {
		for _, c := range charts(points, now) {
			for _, l := range c.Lines {
				if strings.Contains(l.Path, "NaN") || strings.Contains(l.Path, "Inf") || strings.Contains(l.Path, "-") {
					t.Errorf("%s: %s", c.Title, l.Path)
				}
			}
		}
	}
	if c := charts(h.points, now); c[2].Last != "3" || c[1].Most != "499" {
		t.Errorf("%+v", c)
	}
}

// TestStrip has each due time in its hour.
func TestStrip(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var s strip
	for _, in := range []time.Duration{-time.Minute, time.Minute, 59 * time.Minute, 61 * time.Minute, 25 * time.Hour} {
		s.add(now, now.Add(in))
	}
	if s.Overdue != 1 || s.Hours[0] != 2 || s.Hours[1] != 1 || len(s.Bars()) != 25 || s.Bars()[1].Height != 100 {
		t.Errorf("%+v", s)
	}
}

// TestPagesParse, each with the layout.
func TestPagesParse(t *testing.T) {
	t.Parallel()
	for _, p := range append(menu, page{Name: "job"}, page{Name: "error"}) {
		if _, err := template.New("layout.html").Funcs(functions).ParseFS(pages, "pages/layout.html", "pages/parts.html", "pages/"+p.Name+".html"); err != nil {
			t.Error(err)
		}
	}
}

// TestTheFirstLook waits for the lists: figures alone are no answer.
func TestTheFirstLook(t *testing.T) {
	t.Parallel()
	s := newSampler(nil, nil)
	s.now.Store(&sample{Number: 1, At: time.Now()}) // by nobody's request
	found := make(chan *sample)
	go func() { found <- s.look(t.Context()) }()
	<-s.wake
	s.now.Store(&sample{Number: 2, At: time.Now(), Whole: true})
	s.mu.Lock()
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
	if got := <-found; got.Number != 2 {
		t.Errorf("%+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.now.Store(&sample{Number: 3, At: time.Now().Add(-time.Hour), Whole: true})
	if got := s.look(ctx); got.Number != 3 { // what there is, with its time
		t.Errorf("%+v", got)
	}
}
