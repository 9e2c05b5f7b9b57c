// Package testvendor answers one question: how do tests and the demo play an API that makes exports?
// A job is submitted, polled until it is done, and its rows are read page by page.
package testvendor

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Vendor is the API. Set its fields before the first request, or under Lock.
type Vendor struct {
	sync.Mutex
	URL        string
	Token      string // bearer token that every request must have; empty: none
	Idempotent bool   // it honours Idempotency-Key
	Polls      int    // how many polls a job takes until it is done
	Pages      int    // pages per job, of two rows, if Rows is nil
	// Rows returns a page of a job's rows, and whether more pages follow.
	Rows func(j *Job, page int) (rows []any, more bool)
	// State returns the state of a job; nil: queued, running, done.
	State func(j *Job) (state, message string)

	jobs   []*Job
	before Before
	made   Made
	server *http.Server
}

// Before is called with every request, without the lock. It returns true if it has answered.
type Before = func(w http.ResponseWriter, r *http.Request) bool

// Made is called after a job was created and before the answer, without the lock.
type Made = func(r *http.Request, j *Job)

// Job is a job of the vendor.
type Job struct {
	ID        string
	Key       string          // idempotency key, or reference
	Asked     json.RawMessage // body
	Polls     int
	Cancelled int
}

// Start starts the API on a free port of the loopback interface. Close ends it.
func (v *Vendor) Start() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	v.server = &http.Server{Handler: v, ReadHeaderTimeout: 10 * time.Second}
	go v.server.Serve(listener)
	v.URL = "http://" + listener.Addr().String() + "/v2"
	return nil
}

// Close ends the API and its connections.
func (v *Vendor) Close() { _ = v.server.Close() }

// SetBefore sets what is called with every request from now on; nil: nothing.
func (v *Vendor) SetBefore(f Before) {
	v.Lock()
	defer v.Unlock()
	v.before = f
}

// SetMade sets what is called with every job from now on; nil: nothing.
func (v *Vendor) SetMade(f Made) {
	v.Lock()
	defer v.Unlock()
	v.made = f
}

// Jobs returns copies of all jobs by key.
func (v *Vendor) Jobs() map[string][]Job {
	v.Lock()
	defer v.Unlock()
	all := map[string][]Job{}
	for _, j := range v.jobs {
		all[j.Key] = append(all[j.Key], *j)
	}
	return all
}

// ServeHTTP answers a request.
func (v *Vendor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.Lock()
	before := v.before
	v.Unlock()
	if before != nil && before(w, r) {
		return
	}
	if v.Token != "" && r.Header.Get("Authorization") != "Bearer "+v.Token {
		http.Error(w, `{"message": "the token is missing or wrong"}`, http.StatusUnauthorized)
		return
	}
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/v2/exports"), "/")
	switch {
	case len(path) == 1 && r.Method == http.MethodPost:
		v.submit(w, r)
	case len(path) == 1:
		v.find(w, r.URL.Query().Get("reference"))
	case len(path) == 2 && r.Method == http.MethodDelete:
		v.with(w, path[1], func(j *Job) any { j.Cancelled++; return nil })
	case len(path) == 2:
		v.with(w, path[1], func(j *Job) any {
			state, message := v.state(j)
			j.Polls++
			return map[string]any{"state": state, "progress": 100, "message": message}
		})
	case len(path) == 3 && path[2] == "rows":
		page, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
		v.with(w, path[1], func(j *Job) any { return v.page(j, page) })
	default:
		http.NotFound(w, r)
	}
}

func (v *Vendor) submit(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Reference string `json:"reference"`
	}
	var raw json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&raw); err != nil || json.Unmarshal(raw, &body) != nil {
		http.Error(w, "no JSON", http.StatusBadRequest)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	if key == "" {
		key = body.Reference
	}
	v.Lock()
	var j *Job
	for _, known := range v.jobs {
		if v.Idempotent && known.Key == key {
			j = known
		}
	}
	if j == nil {
		j = &Job{ID: fmt.Sprintf("x-%d", len(v.jobs)+1), Key: key, Asked: raw}
		v.jobs = append(v.jobs, j)
	}
	made := v.made
	v.Unlock()
	if made != nil {
		made(r, j)
	}
	answer(w, map[string]any{"job": map[string]any{"id": j.ID}})
}

// find answers with the jobs of a reference.
func (v *Vendor) find(w http.ResponseWriter, key string) {
	found := []any{}
	for _, j := range v.Jobs()[key] {
		found = append(found, map[string]any{"id": j.ID})
	}
	answer(w, map[string]any{"jobs": found})
}

func (v *Vendor) with(w http.ResponseWriter, id string, f func(*Job) any) {
	v.Lock()
	defer v.Unlock()
	for _, j := range v.jobs {
		if j.ID == id {
			answer(w, f(j))
			return
		}
	}
	http.Error(w, "no such export", http.StatusNotFound)
}

func (v *Vendor) state(j *Job) (state, message string) {
	switch {
	case v.State != nil:
		return v.State(j)
	case j.Polls < v.Polls/2:
		return "queued", ""
	case j.Polls < v.Polls:
		return "running", ""
	}
	return "done", ""
}

// page returns a page of a job's rows, and the cursor of the next one.
func (v *Vendor) page(j *Job, page int) any {
	rows, more := v.doubles(page)
	if v.Rows != nil {
		rows, more = v.Rows(j, page)
	}
	a := map[string]any{"rows": rows}
	if more {
		a["next_cursor"] = strconv.Itoa(page + 1)
	}
	return a
}

// doubles returns a page of two rows: n and twice n.
func (v *Vendor) doubles(page int) (rows []any, more bool) {
	if page >= v.Pages {
		return []any{}, false
	}
	for n := 2*page + 1; n <= 2*page+2; n++ {
		rows = append(rows, map[string]int{"n": n, "twice": 2 * n})
	}
	return rows, page+1 < v.Pages
}

func answer(w http.ResponseWriter, what any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(what)
}
