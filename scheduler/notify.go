package scheduler

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/ask"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scheduler/action"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/step"
)

// That a job has ended is told as a timer does its action: the script that ends the job appends a
// firing to a stream of its own, whose name job.EndOf has made. The firing says only which attempt of which record
// has ended; what is told is read from the record.

// Ended is what a record says of its last job.
type Ended struct {
	ID      string        `json:"id"`
	Report  string        `json:"report"`
	Attempt int64         `json:"attempt"`
	Status  report.Status `json:"status"`
	File    string        `json:"file,omitempty"`
	Rows    *int64        `json:"rows,omitempty"` // of the file; nil: it is not known
	Error   string        `json:"error,omitempty"`
}

// Records reads records for notifications.
type Records interface {
	// Ended reads a record; false if it does not exist. It must be safe for concurrent use.
	Ended(ctx context.Context, id string) (Ended, bool, error)
}

// notice is a notification and its receiver.
type notice struct {
	*report.Notify
	Ended
}

// unfinishedWait is the delay before a record that is not final is read again.
const unfinishedWait = time.Second

// end reads the notification of an attempt's end. There is none if the record was deleted, if it
// runs again, because its next end is reported, or if its report has no notify.
func (t actions) end(ctx context.Context, f *firing, id string, attempt int64) step.Result {
	if t.o.Records == nil {
		return t.failed(ctx, f, fmt.Errorf("no report has notify"))
	}
	r, ok, err := t.o.Records.Ended(ctx, id)
	if err != nil {
		t.unread.Store(time.Now().UnixNano())
		return t.later(ctx, f, scripts.Requeue{Delay: outageWait, Error: err.Error()})
	}
	if !ok || r.Attempt != attempt {
		return step.Result{Kind: step.Void}
	}
	of := t.o.Reports[r.Report]
	// After an outage of the records, give the engine the same time to change them.
	switch left := t.leaves(min(f.age(), time.Since(time.Unix(0, t.unread.Load())))); {
	case !left && (of == nil || !r.Status.Final()):
		return step.Result{Kind: step.Void}
	case of == nil: // a process with another configuration may know it
		return t.later(ctx, f, scripts.Requeue{Delay: strangeWait + rand.N(strangeWait),
			Error: "the report is not known"})
	case !r.Status.Final(): // it is about to be
		return t.later(ctx, f, scripts.Requeue{Delay: unfinishedWait, Error: "the record is not final"})
	case of.Notify == nil:
		return step.Result{Kind: step.Void}
	}
	f.Timer, f.act = &report.Timer{Name: "notify", Retry: of.Notify.Retry}, notice{of.Notify, r}.act
	return step.Result{}
}

// act sends the request for the end of a job in the form of Standard Webhooks.
func (n notice) act(ctx context.Context, t action.Tools, f action.Firing) ([]string, error) {
	key, err := n.Key()
	if err != nil {
		return nil, action.Permanent(fmt.Errorf("notify.secret: %w", err)) // unreachable: the configuration was checked
	}
	to, err := url.Parse(n.URL)
	if err != nil {
		return nil, action.Permanent(err) // as above
	}
	body, err := json.Marshal(struct {
		Type      string    `json:"type"`
		Timestamp time.Time `json:"timestamp"`
		Data      Ended     `json:"data"`
	}{"job.finished", time.UnixMilli(f.Due).UTC(), n.Ended})
	if err != nil {
		return nil, action.Permanent(err)
	}
	// The same in each request about this end. A record that is retried keeps its attempt until its next job
	// starts, and can end before that, with another status.
	id := fmt.Sprintf("%s-%d-%s", n.ID, n.Attempt, strings.ToLower(string(n.Status)))
	now := strconv.FormatInt(time.Now().Unix(), 10)
	return nil, t.Send(ctx, ask.Request{
		Method: http.MethodPost, URL: to, Body: body, Timeout: n.Timeout,
		Header: http.Header{
			"Content-Type": {"application/json"}, "Webhook-Id": {id}, "Webhook-Timestamp": {now},
			"Webhook-Signature": {"v1," + sign(key, id, now, body)},
		},
	})
}

// sign returns the signature of a request.
func sign(key []byte, id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	_, _ = io.WriteString(mac, id+"."+timestamp+".")
	_, _ = mac.Write(body)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
