package chaos

import (
	"context"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

const chaosBucket = "reports"

// badSink is a bucket behind a layer that answers with errors, late, or not at all.
type badSink struct {
	store  testmain.Storage
	next   http.Handler    // to the bucket
	way    *http.Transport // of next
	server *httptest.Server
	host   string
	bad    atomic.Bool // if true, every third request fails; otherwise none
	totals *totals

	mu     sync.Mutex
	random *rand.Rand
	closed chan struct{}
}

func newBadSink(t testing.TB, seed uint64, totals *totals) *badSink {
	s := &badSink{random: rand.New(rand.NewPCG(seed, 3)), totals: totals, closed: make(chan struct{}), way: &http.Transport{}}
	s.server = httptest.NewUnstartedServer(nil)
	s.host = s.server.Listener.Addr().String()
	s.store = testmain.NewStorage(t, chaosBucket, s.host)
	s.next = &httputil.ReverseProxy{Transport: s.way, ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", s.store.Addr, s.host
	}}
	s.server.Config.Handler = s
	s.server.Start()
	return s
}

func (s *badSink) close() {
	close(s.closed)
	s.server.Close()
	s.way.CloseIdleConnections()
	s.store.Close()
}

func (s *badSink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	next := s.next
	if !s.bad.Load() {
		next.ServeHTTP(w, r)
		return
	}
	s.mu.Lock()
	dice, lasts := s.random.IntN(18), time.Duration(s.random.IntN(3000))*time.Millisecond
	s.mu.Unlock()
	do := func() { next.ServeHTTP(httptest.NewRecorder(), r) }
	say := func(code int) {
		_, _ = io.Copy(io.Discard, r.Body)
		http.Error(w, `{"error":{"message":"chaos"}}`, code)
	}
	kind := [...]string{"503", "503 after the effect", "412", "hang", "hang after the effect", "cut"}
	if dice < len(kind) {
		s.totals.add("sink: "+kind[dice], 1)
	}
	switch dice {
	case 0:
		say(http.StatusServiceUnavailable)
	case 1:
		do()
		say(http.StatusServiceUnavailable)
	case 2:
		if r.Method == http.MethodPost && strings.Contains(r.URL.Path, "/upload/") {
			say(http.StatusPreconditionFailed) // although the object does not exist
		} else {
			say(http.StatusInternalServerError)
		}
	case 3, 4:
		if dice == 4 {
			do()
		}
		timer := time.NewTimer(lasts)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
		case <-s.closed:
		}
		panic(http.ErrAbortHandler)
	case 5:
		panic(http.ErrAbortHandler)
	default:
		next.ServeHTTP(w, r)
	}
}

// objects returns the contents of all objects in the bucket, by URL.
func (s *badSink) objects() (map[string]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	list, err := s.store.List(ctx)
	found := map[string]string{}
	for _, o := range list {
		found["gs://"+chaosBucket+"/"+o.Name] = ""
	}
	return found, err
}

// read returns the content of an object.
func (s *badSink) read(file string) (string, error) {
	u, err := url.Parse(file)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	content, err := s.store.Read(ctx, strings.TrimPrefix(u.Path, "/"))
	return string(content), err
}
