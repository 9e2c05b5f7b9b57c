package scheduler

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scheduler/action"
	"github.com/fanfold/fanfold/scripts/job"
)

// signingKey signs what the tests are told.
const signingKey = "0123456789abcdef01234567"

// told is a request that tells of the end of a job.
type told struct{ id, body string }

// receiver is a service that is told, and answers its n-th request, from 0, with what answer writes. It
// takes a request only if it is signed.
func receiver(t *testing.T, answer func(n int, w http.ResponseWriter)) (url string, all func() []told) {
	t.Helper()
	var mu sync.Mutex
	var list []told
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		id := r.Header.Get("webhook-id")
		mac := hmac.New(sha256.New, []byte(signingKey))
		mac.Write([]byte(id + "." + r.Header.Get("webhook-timestamp") + "." + string(body)))
		if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); r.Header.Get("webhook-signature") != want || r.Method != http.MethodPost {
			t.Errorf("%s %s %q", r.Method, body, r.Header)
		}
		mu.Lock()
		n := len(list)
		list = append(list, told{id, string(body)})
		mu.Unlock()
		answer(n, w)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []told {
		mu.Lock()
		defer mu.Unlock()
		return list
	}
}

// ends are records by their ids.
type ends struct {
	mu     sync.Mutex
	by     map[string]Ended
	broken int // reads that fail; below 0: as many have not
}

func (e *ends) Ended(_ context.Context, id string) (Ended, bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.broken--; e.broken >= 0 {
		return Ended{}, false, errors.New("away")
	}
	r, ok := e.by[id]
	return r, ok, nil
}

func (e *ends) set(r Ended) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.by[r.ID] = r
}

// telling is a bundle without timers whose report r tells a service of its jobs.
func telling(t *testing.T, url string, records ...Ended) (*timersBundle, *ends) {
	t.Helper()
	b := newTimers(t, testmain.SharedRedis(t))
	e := &ends{by: map[string]Ended{}}
	for _, r := range records {
		e.set(r)
	}
	b.options.Records = e
	b.options.Reports = map[string]*report.Report{"quiet": {Name: "quiet"}, "r": {Name: "r", Notify: &report.Notify{
		URL: url, Secret: report.Secret("whsec_" + base64.StdEncoding.EncodeToString([]byte(signingKey))), Timeout: 5 * time.Second,
		Retry: report.Retry{Retries: 2, Delay: 10 * time.Millisecond},
	}}}
	return b, e
}

// end says that an attempt has ended.
func (b *timersBundle) end(id string, attempt int64) {
	b.t.Helper()
	if err := b.s.Receipts.Ended(b.t.Context(), id, attempt, true); err != nil {
		b.t.Fatal(err)
	}
}

// over tells whether nothing is to be told any more.
func (b *timersBundle) over() bool {
	p, k := b.client.TxPipeline(), b.s.Keys // at one moment: a firing moves between the two
	entries, waiting := p.XLen(b.t.Context(), k.Finished), p.ZCard(b.t.Context(), k.WaitingFired)
	_, err := p.Exec(b.t.Context())
	return err == nil && entries.Val()+waiting.Val() == 0
}

// TestEndsAreTold, with what the record says, and as often as the end was noted.
func TestEndsAreTold(t *testing.T) {
	t.Parallel()
	url, all := receiver(t, func(n int, w http.ResponseWriter) {
		if n == 0 {
			w.WriteHeader(http.StatusBadGateway) // it is tried again
		}
	})
	b, e := telling(t, url,
		Ended{ID: "1", Report: "r", Attempt: 2, Status: report.Success, File: "file:///x.csv"},
		Ended{ID: "again", Report: "r", Attempt: 3, Status: report.Failed}, // its second attempt is over
		Ended{ID: "quiet", Report: "quiet", Attempt: 1, Status: report.Failed},
	)
	e.broken = 1
	b.end("1", 2)
	b.run("c1", true)
	b.until("it is told", func() bool { return len(all()) == 2 && b.over() })
	for _, one := range all() {
		if one.id != "1-2-success" || !strings.HasPrefix(one.body, `{"type":"job.finished","timestamp":"20`) ||
			!strings.HasSuffix(one.body, `"data":{"id":"1","report":"r","attempt":2,"status":"SUCCESS","file":"file:///x.csv"}}`) {
			t.Errorf("%+v", one)
		}
	}
	b.end("again", 2)
	b.end("quiet", 1)
	b.end("gone", 1)
	b.end("1", 2)
	b.until("the rest is done", b.over)
	if got := all(); len(got) != 3 || got[2].id != got[0].id {
		t.Errorf("%+v", got)
	}
	if n := b.client.XLen(t.Context(), b.s.Keys.Quarantined).Val(); n != 0 {
		t.Errorf("%d in quarantine", n)
	}
}

// TestAnEndIsToldOnceItIsDurable, and not before.
func TestAnEndIsToldOnceItIsDurable(t *testing.T) {
	t.Parallel()
	url, all := receiver(t, func(int, http.ResponseWriter) {})
	b, e := telling(t, url, Ended{ID: "1", Report: "r", Status: report.Pending})
	b.end("1", 0)
	b.run("c1", true)
	b.until("it waits", func() bool { return b.client.ZCard(t.Context(), b.s.Keys.WaitingFired).Val() == 1 })
	e.set(Ended{ID: "1", Report: "r", Status: report.Failed, Error: "no \"parameters\""})
	b.until("it is told", func() bool { return len(all()) == 1 && b.over() })
	if one := all()[0]; one.id != "1-0-failed" || !strings.HasSuffix(one.body, `"attempt":0,"status":"FAILED","error":"no \"parameters\""}}`) {
		t.Errorf("%+v", one)
	}
}

// TestEndsOfOneAttemptHaveIDsOfTheirOwn: a record that is retried keeps its attempt until it starts, and can be
// cancelled before that.
func TestEndsOfOneAttemptHaveIDsOfTheirOwn(t *testing.T) {
	t.Parallel()
	url, all := receiver(t, func(int, http.ResponseWriter) {})
	b, e := telling(t, url, Ended{ID: "7", Report: "r", Attempt: 3, Status: report.Failed})
	b.end("7", 3)
	b.run("c1", true)
	b.until("it is told", func() bool { return len(all()) == 1 && b.over() })
	e.set(Ended{ID: "7", Report: "r", Attempt: 3, Status: report.Cancelled})
	b.end("7", 3)
	b.until("the other end is told", func() bool { return len(all()) == 2 && b.over() })
	if got := all(); got[0].id != "7-3-failed" || got[1].id != "7-3-cancelled" {
		t.Errorf("%+v", got)
	}
}

// TestAnEndIsToldAfterALongOutage of the records: its record is changed only when they are back.
func TestAnEndIsToldAfterALongOutage(t *testing.T) {
	t.Parallel()
	url, all := receiver(t, func(int, http.ResponseWriter) {})
	b, e := telling(t, url, Ended{ID: "1", Report: "r", Status: report.Pending})
	e.broken, b.runs = 1, time.Hour
	b.client.XAdd(t.Context(), &redis.XAddArgs{Stream: b.s.Keys.Finished, Values: []any{"name", job.EndOf("1", 0), "due", time.Now().Add(-time.Hour).UnixMilli(), "late", 0}})
	b.run("c1", true)
	b.until("the records are back", func() bool { e.mu.Lock(); defer e.mu.Unlock(); return e.broken < 0 })
	e.set(Ended{ID: "1", Report: "r", Status: report.Failed})
	b.until("nothing is to be told any more", b.over)
	if got := all(); len(got) != 1 || got[0].id != "1-0-failed" {
		t.Errorf("%+v", got)
	}
}

// TestATimerDoesNotWaitForEnds: a service that does not answer delays only what it is told.
func TestATimerDoesNotWaitForEnds(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	url, all := receiver(t, func(int, http.ResponseWriter) { <-gate })
	t.Cleanup(func() { close(gate) })
	b, e := telling(t, url)
	b.options.Reports["r"].Notify.Timeout = time.Hour
	b.options.Timers = append(b.options.Timers, message(t, func(d *report.Timer) { d.Own.(*action.AppendFields).Stream = b.stream }))
	for i := range 100 {
		id := strconv.Itoa(i)
		e.set(Ended{ID: id, Report: "r", Attempt: 1, Status: report.Success})
		b.end(id, 1)
	}
	b.run("c1", true)
	b.until("the service hangs", func() bool { return len(all()) >= 8 })
	b.zadd("msg-1-x", 0)
	b.until("the timer's action is done", func() bool { return b.appended()["msg-1-x"] == 1 })
	if n := b.client.XLen(t.Context(), b.s.Keys.Finished).Val(); n != 100 {
		t.Errorf("%d ends wait, and nobody was told", n)
	}
}

// TestEndsThatCannotBeTold are quarantined, and no request goes where the configuration does not say.
func TestEndsThatCannotBeTold(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	t.Cleanup(elsewhere.Close)
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter)
		times  int
		reason string
	}{
		"refused":   {func(w http.ResponseWriter) { http.Error(w, "unknown", http.StatusNotFound) }, 1, "404 Not Found: unknown"},
		"elsewhere": {func(w http.ResponseWriter) { w.Header().Set("Location", elsewhere.URL); w.WriteHeader(307) }, 1, "307 Temporary Redirect"},
		"busy":      {func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }, 3, "(try 3 of 3)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, all := receiver(t, func(_ int, w http.ResponseWriter) { c.answer(w) })
			b, _ := telling(t, url, Ended{ID: "1", Report: "r", Attempt: 1, Status: report.Failed})
			b.end("1", 1)
			b.run("c1", true)
			quarantined := b.s.Keys.Quarantined
			b.until("it is given up", func() bool { return b.client.XLen(t.Context(), quarantined).Val() == 1 && b.over() })
			entry := b.client.XRange(t.Context(), quarantined, "-", "+").Val()[0].Values
			if reason, _ := entry["reason"].(string); len(all()) != c.times || !strings.Contains(reason, c.reason) || strings.Contains(reason, "whsec") {
				t.Errorf("%d requests, %+v", len(all()), entry)
			}
			if fields, _ := entry["fields"].(string); !strings.Contains(fields, job.EndOf("1", 1)) {
				t.Errorf("%+v", entry)
			}
		})
	}
}
