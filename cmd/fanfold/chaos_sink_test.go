package main

import (
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsouza/fake-gcs-server/fakestorage"
)

const chaosBucket = "reports"

// badSink is a bucket behind a layer that answers wrongly, late, or not at all.
type badSink struct {
	fake   *fakestorage.Server
	server *httptest.Server
	host   string
	bad    atomic.Bool // while it is, every third request goes wrong; otherwise none
	totals *totals

	mu     sync.Mutex
	random *rand.Rand
	closed chan struct{}
}

func newBadSink(t testing.TB, seed uint64, totals *totals) *badSink {
	s := &badSink{random: rand.New(rand.NewPCG(seed, 3)), totals: totals, closed: make(chan struct{})}
	s.server = httptest.NewUnstartedServer(nil)
	s.host = s.server.Listener.Addr().String()
	var err error
	s.fake, err = fakestorage.NewServerWithOptions(fakestorage.Options{
		NoListener: true, Scheme: "http", PublicHost: s.host, ExternalURL: "http://" + s.host,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.fake.CreateBucketWithOpts(fakestorage.CreateBucketOpts{Name: chaosBucket})
	s.server.Config.Handler = s
	s.server.Start()
	return s
}

func (s *badSink) close() {
	close(s.closed)
	s.server.Close()
	s.fake.Stop()
}

func (s *badSink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Host = s.host // workers come through a relay
	next := s.fake.HTTPHandler()
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
			say(http.StatusPreconditionFailed) // which is not true
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

// objects gives everything that is in the bucket, by URL.
func (s *badSink) objects() (map[string]string, error) {
	list, _, err := s.fake.ListObjectsWithOptions(chaosBucket, fakestorage.ListOptions{})
	found := map[string]string{}
	for _, o := range list {
		found["gs://"+chaosBucket+"/"+o.Name] = ""
	}
	return found, err
}

// read gives an object's content.
func (s *badSink) read(file string) (string, error) {
	u, err := url.Parse(file)
	if err != nil {
		return "", err
	}
	o, err := s.fake.GetObject(chaosBucket, strings.TrimPrefix(u.Path, "/"))
	return string(o.Content), err
}
